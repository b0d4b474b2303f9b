/**
 * Which transport a desktop uses: a pure function of what happened lately.
 *
 *   long-poll ──holds cut──▶ long-poll, shorter hold ──cut too short──▶ websocket ──fails──▶ plain
 *       ▲                               │                                  │                  │
 *       └── a trial works (on a schedule); at once after a sleep or in another network ───────┘
 *
 * What is the path's fault and what is the relay's? After each cut the desktop asks once without a hold. Answered: the
 * relay is there, so the path has cut the hold. Refused: the relay is down, and nothing is held against the path. A
 * WebSocket that fails is judged the same way, by one plain request. A fallback is a state, never a wish: nothing of
 * this is written down.
 */
import type { TransportName } from '../protocol/api.ts';
import { HOLD_MAX_MS } from '../protocol/limits.ts';

/** Cuts in a row before anything changes: a relay that restarts cuts every hold once. */
const CUTS_BEFORE_STEP = 2;
/** Requests without a hold that end in silence, in a row, and mean "the relay is down". One may be an accident. */
const MISSES_WHEN_DOWN = 2;
/** A new hold is this share of the shortest life that was seen: below it, with room for jitter. */
const SHORTEN_SHARE = 0.8;
/** A hold that ended in silence does not say when it died, so its length is searched by halves. */
const SILENT_SHARE = 0.5;
/** A shorter hold is not worth it: eight requests a minute, for a path that a WebSocket may serve better. */
const HOLD_MIN_MS = 7_500;
/** A hold that was answered this close to its end has shown that the path is good for it. */
const LIVED_SHARE = 0.9;
/** A WebSocket that is lost this often within {@link LOSS_WINDOW_MS} is no better than what it replaced. */
const LOSSES_BEFORE_STEP = 3;
const LOSS_WINDOW_MS = 2 * 60_000;
/** What is better is tried again after this long; twice as long each time that the trial fails. */
export const TRIAL_MIN_MS = 5 * 60_000;
export const TRIAL_MAX_MS = 60 * 60_000;

export interface TransportState {
  readonly transport: TransportName;
  /** Hold to ask for where the path lets it through: the owner's. */
  readonly maxHoldMs: number;
  /** Hold to ask for; meaningless in `plain`. */
  readonly holdMs: number;
  /** Why it is this transport and hold, for a person. */
  readonly reason: string;
  /** Whether this transport, or a hold of this length, has worked since it was chosen. */
  readonly proven: boolean;
  /** Holds that were cut and not outlived by a later one, and the shortest life among them. */
  readonly cuts: number;
  readonly shortestMs: number;
  /** The last cut, until it is known whether the relay is there. */
  readonly unjudged: { readonly silent: boolean; readonly why: string } | null;
  /** Requests without a hold that ended in silence, in a row. */
  readonly misses: number;
  /** When the WebSocket was lost lately; instants of the monotonic clock. */
  readonly losses: readonly number[];
  /** The WebSocket that just failed, while a plain request finds out whether the relay is there at all. */
  readonly doubted: TransportState | null;
  /** True for a WebSocket that has failed once while the relay answered. Its next failure counts. */
  readonly lastChance: boolean;
  /** When something better is tried (monotonic); null while there is nothing better. */
  readonly trialAt: number | null;
  readonly trialPauseMs: number;
  /** Holds that were cut since the start, for the status. */
  readonly holdsCut: number;
}

export type TransportEvent =
  /** The relay answered. `heldMs`: how long it took. */
  | { readonly type: 'answered'; readonly heldMs: number }
  /** A held request ended without an answer of the relay; `silent`: nothing came until the deadline. */
  | { readonly type: 'hold-cut'; readonly afterMs: number; readonly silent: boolean; readonly why: string }
  /** A request without a hold was not answered; `silent`: nothing came until the deadline. */
  | { readonly type: 'unreachable'; readonly silent: boolean }
  /** A WebSocket did not open, or opened and gave no answer. */
  | { readonly type: 'socket-refused'; readonly why: string }
  /** A WebSocket that had worked was lost. */
  | { readonly type: 'socket-lost'; readonly why: string }
  /** While the fallback went on working, a probe over this better transport was answered, or none was. */
  | { readonly type: 'trial-worked'; readonly transport: TransportName }
  | { readonly type: 'trial-failed' }
  /** The path may be another now. */
  | { readonly type: 'path-changed'; readonly why: 'woke' | 'network-changed' };

const NO_CUTS = { cuts: 0, shortestMs: Number.POSITIVE_INFINITY, unjudged: null, misses: 0 } as const;

/** Before anything has happened, with the longest hold that the owner wants. */
export const startWith = (maxHoldMs: number): TransportState => ({
  transport: 'long-poll',
  maxHoldMs,
  holdMs: maxHoldMs,
  reason: 'the first choice',
  proven: false,
  ...NO_CUTS,
  losses: [],
  doubted: null,
  lastChance: false,
  trialAt: null,
  trialPauseMs: TRIAL_MIN_MS,
  holdsCut: 0,
});

export const START = startWith(HOLD_MAX_MS);

/** `now` is monotonic, in milliseconds. */
export function nextTransport(state: TransportState, event: TransportEvent, now: number): TransportState {
  switch (event.type) {
    case 'answered':
      return answered(state, event.heldMs, now);
    case 'hold-cut':
      return holdCut({ ...state, holdsCut: state.holdsCut + 1 }, event);
    case 'unreachable':
      return unreachable(state, event.silent);
    case 'socket-refused':
      return state.transport === 'websocket' ? doubt(state, `the WebSocket failed (${event.why})`, now) : state;
    case 'socket-lost':
      return socketLost(state, event.why, now);
    case 'trial-worked':
      return trialWorked(state, event.transport, now);
    case 'trial-failed':
      return trialFailed(state, now);
    case 'path-changed':
      return pathChanged(state, event.why);
  }
}

/** What is better than the transport in use, best first. */
export function betterThan({ transport, holdMs, maxHoldMs }: TransportState): TransportName[] {
  if (transport === 'plain') return ['long-poll', 'websocket'];
  return transport === 'websocket' || holdMs < maxHoldMs ? ['long-poll'] : [];
}

function answered(state: TransportState, heldMs: number, now: number): TransportState {
  const { doubted } = state;
  if (doubted?.proven && !doubted.lastChance) {
    // The relay is there after all. It may just have come back, and the WebSocket had worked: it gets one more try.
    return { ...doubted, lastChance: true, holdsCut: state.holdsCut };
  }
  if (state.unjudged !== null) return judgeCut({ ...state, unjudged: null, misses: 0 }, state.unjudged, now);
  const lived = state.transport !== 'long-poll' || heldMs >= state.holdMs * LIVED_SHARE;
  // Only a hold that outlived the one that was cut is evidence against the cut.
  const outlived = heldMs >= state.shortestMs ? NO_CUTS : { misses: 0 };
  return { ...state, ...outlived, proven: state.proven || lived, doubted: null, lastChance: false };
}

function holdCut(
  state: TransportState,
  { afterMs, silent, why }: TransportEvent & { type: 'hold-cut' },
): TransportState {
  if (state.transport !== 'long-poll') return state;
  const shortestMs = Math.min(state.shortestMs, afterMs);
  return { ...state, cuts: state.cuts + 1, shortestMs, misses: 0, unjudged: { silent, why } };
}

/** The relay is there, so the path has cut the hold. Is that enough to do something about it? */
function judgeCut(state: TransportState, { silent, why }: { silent: boolean; why: string }, now: number) {
  const { cuts, shortestMs } = state;
  // Silence until the deadline is no restart: a relay that ends closes its connections. Nor does a shortened hold that
  // never lived need a second cut.
  const isEnough = silent || cuts >= CUTS_BEFORE_STEP || (state.holdMs < state.maxHoldMs && !state.proven);
  if (!isEnough) return state;
  const holdMs = silent ? state.holdMs * SILENT_SHARE : Math.min(shortestMs, state.holdMs) * SHORTEN_SHARE;
  const times = cuts === 1 ? '' : `${cuts} times in a row, `;
  const seen = `held requests were cut ${times}after ${seconds(shortestMs)} (${why})`;
  if (holdMs < HOLD_MIN_MS) return stepDown(state, { to: 'websocket', why: seen }, now);
  return {
    ...state,
    ...NO_CUTS,
    holdMs: Math.round(holdMs),
    proven: false,
    reason: `${seen}, so they are held for ${seconds(holdMs)}`,
    trialAt: now + state.trialPauseMs,
  };
}

function unreachable(state: TransportState, silent: boolean): TransportState {
  // Neither WebSocket nor plain request: the relay is down, and the WebSocket is not to blame.
  if (state.doubted !== null) return { ...state.doubted, losses: [], holdsCut: state.holdsCut };
  const misses = silent ? state.misses + 1 : MISSES_WHEN_DOWN;
  return misses < MISSES_WHEN_DOWN ? { ...state, misses } : { ...state, ...NO_CUTS };
}

function socketLost(state: TransportState, why: string, now: number): TransportState {
  if (state.transport !== 'websocket') return state;
  const losses = [...state.losses.filter((at) => now - at < LOSS_WINDOW_MS), now];
  if (losses.length < LOSSES_BEFORE_STEP) return { ...state, losses };
  const seen = `the WebSocket was lost ${losses.length} times within ${seconds(LOSS_WINDOW_MS)} (${why})`;
  return stepDown(state, { to: 'plain', why: seen }, now);
}

function doubt(state: TransportState, why: string, now: number): TransportState {
  return { ...stepDown(state, { to: 'plain', why }, now), doubted: state };
}

function stepDown(state: TransportState, step: { to: TransportName; why: string }, now: number): TransportState {
  return {
    ...startWith(state.maxHoldMs),
    transport: step.to,
    reason: `${step.why}, so the desktop uses ${step.to === 'plain' ? 'plain polling' : 'a WebSocket'}`,
    trialAt: now + state.trialPauseMs,
    trialPauseMs: state.trialPauseMs,
    holdsCut: state.holdsCut,
  };
}

function trialWorked(state: TransportState, transport: TransportName, now: number): TransportState {
  // The trial took a while: it must still be about something better than what is in use now.
  if (!betterThan(state).includes(transport)) return state;
  const { maxHoldMs, trialPauseMs, holdsCut } = state;
  const better = { ...startWith(maxHoldMs), transport, trialPauseMs: longer(trialPauseMs), holdsCut };
  if (transport === 'long-poll') return { ...better, reason: 'the first choice works again' };
  return {
    ...better,
    reason: 'held requests are still cut, and the WebSocket works again',
    trialAt: now + better.trialPauseMs,
  };
}

function trialFailed(state: TransportState, now: number): TransportState {
  if (state.trialAt === null) return state;
  const trialPauseMs = longer(state.trialPauseMs);
  return { ...state, trialAt: now + trialPauseMs, trialPauseMs };
}

/** What works in a trial and fails again afterwards is not tried as often any more, either. */
function longer(pauseMs: number): number {
  return Math.min(pauseMs * 2, TRIAL_MAX_MS);
}

const WHY_AGAIN = {
  woke: 'this machine woke from sleep, so the path may be another',
  'network-changed': 'the network has changed, so the path may be another',
} as const;

function pathChanged(state: TransportState, why: keyof typeof WHY_AGAIN): TransportState {
  // On the first choice only what was held against the old path is forgotten.
  if (state.trialAt === null) return { ...state, ...NO_CUTS };
  return { ...startWith(state.maxHoldMs), reason: WHY_AGAIN[why], holdsCut: state.holdsCut };
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
