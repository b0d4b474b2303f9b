/**
 * Measures the way to the relay, through everything that is on it, with the desktop's own dialers.
 *
 * Owns what is measured and how. What it means is up to `doctor-verdict.ts`. Changes nothing at the relay: every call is
 * a probe.
 */
import { asRelayError, type ErrorCode } from '../protocol/errors.ts';
import { HOLD_MARGIN_MS, HOLD_MAX_MS } from '../protocol/limits.ts';
import type { Clock } from '../protocol/ports.ts';
import { pause } from '../protocol/waiting.ts';
import type { Dialer } from './ports.ts';
import type { Dialers } from './transports.ts';

/** The dialer learns from the second of two cuts that are alike, and asks for signs of life in the third. */
const ATTEMPTS_AFTER_CUT = 2;

/** Round trips that are measured: enough for a median, few enough for a slow link. */
const TRIPS = 7;
/** What is held side by side. The longest is as long as a real hold gets. */
const HOLDS_MS = [HOLD_MAX_MS - HOLD_MARGIN_MS, 15_000, 10_000, 5_000] as const;
/** The short call between them comes this long after they have begun. */
const SHORT_CALL_AFTER_MS = 1_000;

export interface Failure {
  readonly code: ErrorCode;
  readonly reason: string;
}

export interface Trips {
  /** The first one opens a connection. */
  readonly first_ms: number;
  readonly min_ms: number;
  readonly median_ms: number;
  readonly max_ms: number;
}

export interface ClockDifference {
  /** The relay's clock minus ours. */
  readonly offset_ms: number;
  /** Half of the round trip that it was read with. */
  readonly uncertainty_ms: number;
}

export interface HoldProbe {
  readonly asked_ms: number;
  /** Null when it was answered at its end, as it should be. */
  readonly failure: (Failure & { readonly after_ms: number }) | null;
}

export interface SocketReport {
  readonly trips: Trips | null;
  readonly failure: Failure | null;
  /** Whether a connection with nothing on it lives as long as a hold; null when none could be opened. */
  readonly silence: 'lives' | 'needs signs of life' | 'is cut' | null;
}

export interface PathReport {
  readonly trips: Trips | null;
  readonly failure: Failure | null;
  readonly clock: ClockDifference | null;
  /** The longest first. Empty when the relay cannot be reached. */
  readonly holds: readonly HoldProbe[];
  /** A short call while requests are held; null when it failed, or the relay cannot be reached. */
  readonly short_while_held_ms: number | null;
  readonly socket: SocketReport | null;
}

export interface MeasureOptions {
  readonly clock: Clock;
  readonly dialers: Dialers;
  readonly signal: AbortSignal;
}

export async function measurePath(options: MeasureOptions): Promise<PathReport> {
  const reached = await measureTrips(options.dialers['long-poll'], options);
  if (reached.failure !== null) return { ...reached, holds: [], short_while_held_ms: null, socket: null };
  const [holds, short_while_held_ms, socket] = await Promise.all([
    Promise.all(HOLDS_MS.map((askedMs) => probeHold(options.dialers['long-poll'], askedMs, options))),
    shortCall(options),
    measureSocket(options),
  ]);
  return { ...reached, holds, short_while_held_ms, socket };
}

interface Reached {
  readonly trips: Trips | null;
  readonly failure: Failure | null;
  readonly clock: ClockDifference | null;
}

/** Short calls one after another; the clock is read from the quickest. */
async function measureTrips(dialer: Dialer, { clock, signal }: MeasureOptions): Promise<Reached> {
  const times: number[] = [];
  let best: ClockDifference | null = null;
  try {
    for (let trip = 0; trip < TRIPS; trip++) {
      const wall = clock.now();
      const sentAt = clock.monotonic();
      const { server_now_ms } = await dialer.probe({ hold_ms: 0 }, { signal });
      const ms = clock.monotonic() - sentAt;
      times.push(ms);
      if (best === null || ms / 2 < best.uncertainty_ms) {
        best = { offset_ms: server_now_ms - (wall + ms / 2), uncertainty_ms: ms / 2 };
      }
    }
  } catch (error) {
    return { trips: null, failure: failureOf(error), clock: null };
  }
  return { trips: tripsOf(times), failure: null, clock: best };
}

function tripsOf([first = 0, ...others]: readonly number[]): Trips {
  const sorted = [...others].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? first;
  return { first_ms: first, min_ms: at(0), median_ms: at(0.5), max_ms: at(1) };
}

async function probeHold(dialer: Dialer, askedMs: number, { clock, signal }: MeasureOptions): Promise<HoldProbe> {
  const sentAt = clock.monotonic();
  try {
    await dialer.probe({ hold_ms: askedMs }, { signal });
    return { asked_ms: askedMs, failure: null };
  } catch (error) {
    return { asked_ms: askedMs, failure: { ...failureOf(error), after_ms: clock.monotonic() - sentAt } };
  }
}

/** Is a short call answered at once while others are held, or does something let them queue? */
async function shortCall({ clock, dialers, signal }: MeasureOptions): Promise<number | null> {
  await pause(clock, SHORT_CALL_AFTER_MS, signal);
  const sentAt = clock.monotonic();
  try {
    await dialers['long-poll'].probe({ hold_ms: 0 }, { signal });
    return clock.monotonic() - sentAt;
  } catch {
    return null;
  }
}

async function measureSocket(options: MeasureOptions): Promise<SocketReport> {
  const { websocket } = options.dialers;
  const { trips, failure } = await measureTrips(websocket, options);
  if (failure !== null) return { trips, failure, silence: null };
  const { failure: cut } = await probeHold(websocket, HOLDS_MS[0], options);
  if (cut === null) return { trips, failure, silence: 'lives' };
  const askedMs = Math.min(HOLDS_MS[0], Math.round(cut.after_ms * 3));
  for (let attempt = 0; attempt < ATTEMPTS_AFTER_CUT; attempt++) {
    // A connection that never brought anything teaches nothing by its end.
    await probeHold(websocket, 0, options);
    const again = await probeHold(websocket, askedMs, options);
    if (again.failure === null) return { trips, failure, silence: 'needs signs of life' };
  }
  return { trips, failure, silence: 'is cut' };
}

function failureOf(error: unknown): Failure {
  const { code, message } = asRelayError(error);
  return { code, reason: message };
}
