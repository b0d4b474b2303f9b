/** How much the bench over real sockets measures: the usual amount, which ends within two minutes, and a quick one. */
import type { Spreads } from './play.ts';

export interface Scale {
  readonly quick: boolean;
  /** Of each mode. Each plays one round. */
  readonly desktops: number;
  readonly spreads: Spreads;
  /** Pickups of which each layer is measured, of each transport. */
  readonly layerRuns: number;
  /** Held requests, in ascending order. */
  readonly held: readonly number[];
  /** How long each number of them is watched. */
  readonly watchMs: number;
}

export const USUAL: Scale = {
  quick: false,
  desktops: 60,
  spreads: { desktopsMs: 3_000, roundsMs: 20_000 },
  layerRuns: 60,
  held: [1_000, 10_000],
  watchMs: 6_000,
};

/** Says that everything works, and nothing about speed. */
export const QUICK: Scale = {
  quick: true,
  desktops: 4,
  spreads: { desktopsMs: 200, roundsMs: 1_000 },
  layerRuns: 5,
  held: [20, 40],
  watchMs: 1_000,
};
