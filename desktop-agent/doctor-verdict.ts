/**
 * What a measured path means: which transport the desktop would settle on, why, and what somebody could change.
 *
 * Owns no rules about transports of its own: the measured events are played to the transport policy, and its state and
 * reason are the answer. Pure.
 */
import type { TransportName } from '../protocol/api.ts';
import { HOLD_MAX_MS } from '../protocol/limits.ts';
import type { HoldProbe, PathReport } from './doctor-measure.ts';
import { nextTransport, START, type TransportEvent, type TransportState } from './transport-policy.ts';

/** A difference of clocks that is larger makes times in lists and logs misleading. */
const CLOCK_WARNING_MS = 30_000;
/** A short call that takes this much longer while others are held has queued behind them. */
const QUEUED_MS = 1_000;

export interface Verdict {
  /** Null when none works. */
  readonly transport: TransportName | null;
  /** Hold that would be asked for, in milliseconds; 0 without one. */
  readonly hold_ms: number;
  readonly why: string;
  /** What to change, and where; empty when all is well. */
  readonly advice: readonly string[];
}

export function judgePath(report: PathReport): Verdict {
  if (report.failure !== null) {
    return { transport: null, hold_ms: 0, why: report.failure.reason, advice: [adviceOnReach(report)] };
  }
  const { transport, holdMs, reason } = settledState(report);
  return { transport, hold_ms: transport === 'plain' ? 0 : holdMs, why: reason, advice: adviceOnPath(report) };
}

/** Plays to the policy what the path would do to the desktop, until it asks for nothing that the path cuts. */
function settledState(report: PathReport): TransportState {
  let state = START;
  const play = (event: TransportEvent) => {
    state = nextTransport(state, event, 0);
  };
  while (state.transport === 'long-poll') {
    const cut = cutOf(report.holds, state.holdMs);
    if (cut === null) return state;
    play({ type: 'hold-cut', ...cut });
    play({ type: 'answered', heldMs: 0 });
  }
  const { socket } = report;
  if (socket === null || socket.failure !== null) {
    play({ type: 'socket-refused', why: (socket?.failure?.reason ?? 'it was not tried').replace(/\.$/, '') });
    play({ type: 'answered', heldMs: 0 });
  } else if (socket.silence === 'is cut') {
    while (state.transport === 'websocket') play({ type: 'socket-lost', why: 'it is cut again and again' });
  }
  return state;
}

/** How a hold of this length would end on this path; null when it would live. */
function cutOf(holds: readonly HoldProbe[], holdMs: number): { afterMs: number; silent: boolean; why: string } | null {
  const failed = holds.filter(({ failure }) => failure !== null);
  const longestLived = Math.max(0, ...holds.filter(({ failure }) => failure === null).map(({ asked_ms }) => asked_ms));
  // Real holds end a little before what was asked for, as the longest probe does.
  if (failed.length === 0 || holdMs <= longestLived) return null;
  const [shortest] = failed.map(({ failure }) => failure!).sort((a, b) => a.after_ms - b.after_ms);
  const { code, after_ms, reason } = shortest!;
  const silent = code === 'deadline-exceeded';
  if (!silent && holdMs < after_ms) return null;
  return { afterMs: after_ms, silent, why: reason.replace(/\.$/, '') };
}

function adviceOnReach({ failure }: PathReport): string {
  const { code, reason } = failure!;
  if (code === 'unauthorized') {
    return 'Make a token on the relay with `graph-relay token create --desktop NAME` and give it to this desktop in GRAPH_RELAY_TOKEN.';
  }
  if (code === 'forbidden')
    return 'The token is not one of a desktop. Make one with `graph-relay token create --desktop NAME`.';
  if (code === 'not-a-relay') {
    return 'Something else answers at this address: look for a typo, a proxy that wants a login, or a path that is not passed on to the relay.';
  }
  if (/certificate|self-signed|issuer/i.test(reason)) {
    return 'The certificate is not trusted here. If a company or a relay of your own signs it, name its certificate authority with --ca FILE.';
  }
  return 'Check that the relay runs, that the address is right, and that a firewall or proxy lets this machine reach it (HTTPS_PROXY, NO_PROXY).';
}

function adviceOnPath(report: PathReport): string[] {
  const { holds, socket, clock, trips, short_while_held_ms: shortMs } = report;
  const advice: string[] = [];
  const holdsAreCut = holds.some(({ failure }) => failure !== null);
  if (holdsAreCut) {
    const seconds = (HOLD_MAX_MS / 1_000) * 1.5;
    advice.push(
      `Let requests be silent for ${seconds} s: proxy_read_timeout ${seconds}s in nginx, timeout server ${seconds}s in haproxy, ProxyTimeout ${seconds} in Apache, and the like in every other hop.`,
    );
  }
  if (socket?.failure && holdsAreCut) {
    advice.push(
      'Pass on WebSockets: in nginx proxy_http_version 1.1 with proxy_set_header Upgrade $http_upgrade and proxy_set_header Connection "upgrade".',
    );
  }
  if (socket?.silence === 'is cut' && holdsAreCut) {
    advice.push('Let WebSockets be silent for a minute: timeout tunnel 1m in haproxy, proxy_read_timeout in nginx.');
  }
  if (shortMs === null || shortMs > (trips?.max_ms ?? 0) + QUEUED_MS) {
    advice.push(
      'Short calls wait while others are held, so results and cancels are late: a proxy lets too few requests through at once.',
    );
  }
  if (clock !== null && Math.abs(clock.offset_ms) - clock.uncertainty_ms > CLOCK_WARNING_MS) {
    advice.push('Set the clock of this machine (or of the relay) by a time service: the two differ by more than 30 s.');
  }
  return advice;
}
