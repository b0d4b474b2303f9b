/** What the bench and a process full of desktops say to each other. Shapes only. */
import type { RelayMode } from '../../desktop-agent/modes.ts';
import type { RunTimes } from '../virtual/bench-engine.ts';

/** The first message: what to be. */
export interface DesktopsOrder {
  readonly url: string;
  readonly relay: 'auto' | RelayMode;
  readonly slots: number;
  readonly stopMs: number;
  /** Whether the instants of each pickup are taken. */
  readonly marked: boolean;
  readonly desktops: readonly { readonly token: string; readonly directory: string; readonly project: string }[];
}

export type DesktopsQuestion =
  /** Connect, evenly over this time. */
  { readonly ask: 'run'; readonly spreadMs: number } | { readonly ask: 'times' };

/** Where a command was, and when, on its way from the socket to the engine. */
export interface DesktopMark {
  readonly commandId: string;
  readonly socketUs: number;
  readonly loopUs: number;
}

export interface DesktopsAnswer {
  /** Of each desktop, in the order of the order. */
  readonly sessions: readonly string[];
  /** When each of them began: its ticks count from then. Milliseconds of the shared clock. */
  readonly startedAt: readonly number[];
  readonly times: readonly (readonly [commandId: string, times: RunTimes])[];
  readonly marks: readonly DesktopMark[];
}
