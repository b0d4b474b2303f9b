/**
 * How a desktop asks for work. Each mode is data: what differs between them is here and nowhere else.
 */
import { CAPACITY_MAX, HOLD_MAX_MS, PLAIN_CONTROL_POLL_MS, PLAIN_POLL_MS } from '../protocol/limits.ts';

export interface RelayMode {
  readonly name: 'long-poll' | 'plain';
  /** Hold that a sync asks for; 0 asks for an answer at once. */
  readonly holdMs: number;
  /** Hold that a control of a running command asks for. */
  readonly controlHoldMs: number;
  /** Pause between two controls of a running command. */
  readonly controlPauseMs: number;
  /**
   * Null: a pass follows the one before as the server says. Otherwise passes start on ticks this far apart, and a
   * tick is skipped while the pass before is busy.
   */
  readonly tickMs: number | null;
  /** True: a pass takes all that is queued and lasts until all of it has run. False: it takes what can start. */
  readonly takesAll: boolean;
}

/** The request is held until there is work; a cancel arrives in a held control. */
export const LONG_POLL: RelayMode = {
  name: 'long-poll',
  holdMs: HOLD_MAX_MS,
  controlHoldMs: HOLD_MAX_MS,
  controlPauseMs: 0,
  tickMs: null,
  takesAll: false,
};

/** The published system: a 20 s timer that skips while busy, serial runs within a pass, a 3 s poll for a cancel. */
export const PLAIN: RelayMode = {
  name: 'plain',
  holdMs: 0,
  controlHoldMs: 0,
  controlPauseMs: PLAIN_CONTROL_POLL_MS,
  tickMs: PLAIN_POLL_MS,
  takesAll: true,
};

export const MODES: Readonly<Record<RelayMode['name'], RelayMode>> = { 'long-poll': LONG_POLL, plain: PLAIN };

/** What a desktop in this mode says that it can start, with so many free slots. */
export function capacityIn(mode: RelayMode, freeSlots: number): number {
  return mode.takesAll ? CAPACITY_MAX : Math.max(0, freeSlots);
}
