/**
 * How a desktop asks for work. Each mode is data: what differs between them is here and nowhere else.
 */
import type { TransportName } from '../protocol/api.ts';
import { CAPACITY_MAX, HOLD_MAX_MS, PLAIN_CONTROL_POLL_MS, PLAIN_POLL_MS } from '../protocol/limits.ts';
import type { TransportState } from './transport-policy.ts';

export interface RelayMode {
  /** The transport that its requests take. */
  readonly name: TransportName;
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

/** The same over one WebSocket. */
export const WEBSOCKET: RelayMode = { ...LONG_POLL, name: 'websocket' };

/** The last resort where nothing can be held: short requests, but still only what can start, and at once when a slot is free. */
export const POLLING: RelayMode = {
  ...LONG_POLL,
  name: 'plain',
  holdMs: 0,
  controlHoldMs: 0,
  controlPauseMs: PLAIN_CONTROL_POLL_MS,
};

/** The published system: a 20 s timer that skips while busy, serial runs within a pass, a 3 s poll for a cancel. */
export const PLAIN: RelayMode = { ...POLLING, tickMs: PLAIN_POLL_MS, takesAll: true };

/** Modes that a desktop can be held to. `auto`, the default, moves between transports by what the path lets through. */
export const FIXED_MODES = { 'long-poll': LONG_POLL, websocket: WEBSOCKET, plain: PLAIN } as const;
export type ModeName = 'auto' | keyof typeof FIXED_MODES;
export const MODE_NAMES: readonly ModeName[] = ['auto', 'long-poll', 'websocket', 'plain'];

/** How to ask for work over the transport that the policy chose. */
export function modeOf({ transport, holdMs }: TransportState): RelayMode {
  if (transport === 'websocket') return WEBSOCKET;
  if (transport === 'plain') return POLLING;
  return heldAtMost(LONG_POLL, holdMs);
}

export function heldAtMost(mode: RelayMode, holdMs: number): RelayMode {
  if (mode.holdMs <= holdMs) return mode;
  return { ...mode, holdMs, controlHoldMs: Math.min(mode.controlHoldMs, holdMs) };
}

/** What a desktop in this mode says that it can start, with so many free slots. */
export function capacityIn(mode: RelayMode, freeSlots: number): number {
  return mode.takesAll ? CAPACITY_MAX : Math.max(0, freeSlots);
}
