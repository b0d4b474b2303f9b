/**
 * The part of the bench with real sockets: floors and layers on a relay that is quiet, then all desktops of all modes at
 * once on the same relay.
 *
 * Owns the processes of that part: all of them have ended when it resolves, well or not.
 */
import { join } from 'node:path';
import type { BenchMode } from '../modes/mode.ts';
import type { RunRecord } from '../virtual/rounds.ts';
import type { Workload } from '../workloads/workload.ts';
import { type Desktops, openDesktops, type Pair, pairsOf, tokensFor } from './desktops.ts';
import { type Floor, type FloorSamples, sampleBeside, startFloor } from './floor.ts';
import { LAYERED_MODES, type LayersMeasured, measureLayers } from './layers.ts';
import { type Callers, createCallers } from './mcp-caller.ts';
import { playLive } from './play.ts';
import { type LiveRelay, startLiveRelay } from './relay.ts';
import type { Scale } from './scale.ts';

export interface RealOptions {
  readonly seed: number;
  readonly modes: readonly BenchMode[];
  readonly workload: Workload;
  readonly scale: Scale;
  /** For all state; the caller removes it. */
  readonly directory: string;
  /** Called for each piece of work that is done. */
  readonly onDone: () => void;
}

export interface RealSide {
  readonly layers: LayersMeasured;
  /** In the order of the modes. */
  readonly records: readonly (readonly RunRecord[])[];
  /** What the floor was while they were played. */
  readonly beside: FloorSamples;
}

/** Pieces of work that {@link playReal} tells of. */
export function piecesOf({ scale, modes }: Pick<RealOptions, 'scale' | 'modes'>): number {
  return scale.layerRuns + scale.desktops * modes.length;
}

export async function playReal(options: RealOptions): Promise<RealSide> {
  const { modes, scale, directory } = options;
  const layered = LAYERED_MODES.map(({ name }) => `layers-${name}`);
  const projects = modes.map(({ name }) => Array.from({ length: scale.desktops }, (_, index) => `${name}-${index}`));
  const all = [layered, ...projects].flat();
  const relay = await startLiveRelay(directory, tokensFor(all));
  const callers = createCallers(relay.url);
  const pairs = pairsOf(all, relay.tokens);
  const floor = await startFloor(directory);
  try {
    const layers = await measureLayers({
      relay,
      callers,
      floor,
      pairs: pairs.slice(0, layered.length),
      directory: join(directory, 'layers'),
      runs: scale.layerRuns,
      onRun: options.onDone,
    });
    const ofMode = (index: number) => {
      const from = layered.length + index * scale.desktops;
      return pairs.slice(from, from + scale.desktops);
    };
    return { layers, ...(await playModes(options, { relay, callers, floor, ofMode })) };
  } finally {
    callers.close();
    await floor.end();
    await relay.stop();
  }
}

async function playModes(
  { modes, workload, seed, scale, directory, onDone }: RealOptions,
  place: { relay: LiveRelay; callers: Callers; floor: Floor; ofMode: (index: number) => readonly Pair[] },
): Promise<Omit<RealSide, 'layers'>> {
  const { relay, callers, floor, ofMode } = place;
  const opened: Desktops[] = [];
  try {
    const open = modes.map((mode, index) => {
      const given = { relay: relay.url, mode, workload, pairs: ofMode(index), marked: false };
      return openDesktops({ ...given, directory: join(directory, mode.name) });
    });
    opened.push(...(await Promise.all(open)));
    const { spreads } = scale;
    const playing = Promise.all(
      modes.map((mode, index) =>
        playLive({ workload, seed, mode, desktops: opened[index]!, callers, spreads, onRound: onDone }),
      ),
    );
    const beside = await sampleBeside(floor, playing);
    return { records: await playing, beside };
  } finally {
    await Promise.all(opened.map((desktops) => desktops.end()));
  }
}
