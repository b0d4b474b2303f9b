/**
 * A way to a relay in virtual time, whose faults the test sets while it runs: what happens to holds, to WebSockets, and
 * whether the relay is there at all.
 *
 * Owns a relay that never has work. Production code on the other end is the whole desktop.
 */

import { seededIds, seededRandom } from '../../bench/sim/seeded.ts';
import type { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { createAgent } from '../../desktop-agent/agent.ts';
import { createDialers } from '../../desktop-agent/dialer/dialers.ts';
import type { OpenSocket, SocketEvents } from '../../desktop-agent/dialer/socket-link.ts';
import type { ModeName } from '../../desktop-agent/modes.ts';
import type { DesktopTables } from '../../desktop-agent/rows.ts';
import { createMemoryState } from '../../protocol/host/state/memory-state.ts';
import { HOLD_JITTER_SHARE, HOLD_MARGIN_MS } from '../../protocol/limits.ts';
import type { Log, LogFields } from '../../protocol/ports.ts';

const TRIP_MS = 20;

export type SocketFault = 'none' | 'refused' | 'black-hole' | 'swallows';

export interface SeenRequest {
  readonly at: number;
  readonly call: string;
  readonly over: string;
  readonly holdMs: number;
}

export class ScriptedPath {
  readonly clock: VirtualClock;
  readonly requests: SeenRequest[] = [];
  relayIsUp = true;
  /** Holds live this long on the way. */
  cutAfterMs = Number.POSITIVE_INFINITY;
  cutBy: 'reset' | 'html-504' | 'silence' = 'reset';
  socket: SocketFault = 'none';
  /** WebSockets are cut after this much silence. */
  socketIdleMs = Number.POSITIVE_INFINITY;
  readonly #jitter = seededRandom(2);
  #cutAll: (() => void)[] = [];

  constructor(clock: VirtualClock) {
    this.clock = clock;
  }

  /** The relay ends like a killed process: every connection is reset. */
  kill(): void {
    this.relayIsUp = false;
    const all = this.#cutAll;
    this.#cutAll = [];
    for (const cut of all) cut();
  }

  readonly fetch = (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const reset = () => reject(new TypeError('fetch failed', { cause: new Error('read ECONNRESET') }));
    init.signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')), { once: true });
    const over = new Headers(init.headers).get('x-graph-relay-transport') ?? '';
    const call = new URL(String(input)).pathname.split('.').at(-1)!;
    const { holdMs, data } = this.#arrive(call, over, JSON.parse(String(init.body)));
    if (!this.relayIsUp) {
      this.clock.after(TRIP_MS, () =>
        reject(new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })),
      );
      return promise;
    }
    this.#cutAll.push(reset);
    if (holdMs <= this.cutAfterMs)
      this.clock.after(TRIP_MS + holdMs, () => resolve(Response.json({ result: { data } })));
    else if (this.cutBy === 'reset') this.clock.after(this.cutAfterMs, reset);
    else if (this.cutBy === 'html-504') this.clock.after(this.cutAfterMs, () => resolve(html504()));
    return promise;
  };

  readonly open: OpenSocket = (_url, _headers, events) => {
    const socket = new PathSocket(this, events);
    this.#cutAll.push(() => socket.end('closed with code 1006'));
    const refused = this.socket === 'refused' || !this.relayIsUp;
    if (refused) this.clock.after(TRIP_MS, () => socket.end(this.relayIsUp ? 'status 404' : 'connect ECONNREFUSED'));
    else if (this.socket !== 'black-hole') this.clock.after(TRIP_MS, () => socket.opened());
    return { send: (text) => socket.receive(text), terminate: () => socket.end('terminated here') };
  };

  /** What the relay does with a call. */
  answerTo(path: string, input: Record<string, unknown>): { holdMs: number; data: unknown } {
    return this.#arrive(path.split('.').at(-1)!, 'websocket', input);
  }

  #arrive(call: string, over: string, input: Record<string, unknown>): { holdMs: number; data: unknown } {
    const asked = Number(input.hold_ms ?? 0);
    this.requests.push({ at: this.clock.monotonic(), call, over, holdMs: asked });
    if (call === 'probe') return { holdMs: asked, data: { held_ms: asked, server_now_ms: this.clock.now() } };
    const holdMs = Math.max(0, asked * (1 - HOLD_JITTER_SHARE * this.#jitter.next()) - HOLD_MARGIN_MS);
    if (call === 'control') return { holdMs: 0, data: { cancel: true, reason: 'unknown-command' } };
    const next_sync_ms = asked > 0 ? 0 : 20_000;
    return { holdMs, data: { epoch: 1, commands: [], refused_projects: [], hold_granted_ms: asked, next_sync_ms } };
  }
}

class PathSocket {
  readonly #path: ScriptedPath;
  readonly #events: SocketEvents;
  #over = false;
  #idle: { cancel(): void } | null = null;

  constructor(path: ScriptedPath, events: SocketEvents) {
    this.#path = path;
    this.#events = events;
  }

  opened(): void {
    if (this.#over) return;
    this.#events.onOpen();
    this.#used();
  }

  receive(text: string): void {
    if (this.#over || this.#path.socket === 'swallows') return;
    this.#used();
    if (text === 'PING') {
      this.#say('PONG', 0);
      return;
    }
    const { id, params } = JSON.parse(text) as { id: number; params: { path: string; input: Record<string, unknown> } };
    const { holdMs, data } = this.#path.answerTo(params.path, params.input);
    this.#say(JSON.stringify({ id, result: { type: 'data', data } }), holdMs);
  }

  end(reason: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#idle?.cancel();
    this.#events.onClose(reason);
  }

  #say(text: string, afterMs: number): void {
    this.#path.clock.after(TRIP_MS + afterMs, () => {
      if (this.#over || this.#path.socket === 'swallows') return;
      this.#used();
      this.#events.onMessage(text);
    });
  }

  #used(): void {
    this.#idle?.cancel();
    const { socketIdleMs, clock } = this.#path;
    if (Number.isFinite(socketIdleMs)) this.#idle = clock.after(socketIdleMs, () => this.end('closed with code 1006'));
  }
}

function html504(): Response {
  const page = '<html><head><title>504 Gateway Time-out</title></head><body>nginx</body></html>';
  return new Response(page, { status: 504, headers: { 'content-type': 'text/html' } });
}

export interface PathLog {
  readonly event: string;
  readonly fields: LogFields;
}

/** A whole desktop that shares nothing, at the near end of the path. It runs until the test ends its clock. */
export function desktopOn(
  path: ScriptedPath,
  options: { mode?: ModeName; network?: () => string; holdMs?: number } = {},
) {
  const random = seededRandom(1);
  const lines: PathLog[] = [];
  const line = (event: string, fields: LogFields = {}) => void lines.push({ event, fields });
  const log: Log = { debug: line, info: line, warn: line, error: line };
  const { clock, fetch, open } = path;
  const agent = createAgent({
    ports: { clock, random, ids: seededIds(random), log },
    dialers: createDialers({ url: 'http://relay.test', token: () => 'grd_token', clock, fetch, open }),
    store: createMemoryState<DesktopTables>(),
    engine: { start: () => ({ done: new Promise(() => {}), cancel() {} }), close: async () => {} },
    library: { list: () => [], load: async () => null },
    mode: options.mode ?? 'auto',
    ...(options.network && { network: options.network }),
    ...(options.holdMs !== undefined && { holdMs: options.holdMs }),
  });
  const ended = agent.run();
  return { agent, ended, lines };
}
