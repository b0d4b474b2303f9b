/**
 * A real relay on a real port and real desktops that reach it through whatever a test puts between them.
 *
 * Owns the wiring, and the count of runs: the engine is a stub that notes every start. State is in memory, but with the
 * durability of the real one, so a relay can be killed and started again on what was on disk.
 */
import type { Socket } from 'node:net';
import { type Agent, createAgent } from '../../desktop-agent/agent.ts';
import { createDialers } from '../../desktop-agent/dialer/dialers.ts';
import { createHttpClient } from '../../desktop-agent/dialer/http-client.ts';
import { openSocket } from '../../desktop-agent/dialer/open-socket.ts';
import type { LinkTimes } from '../../desktop-agent/dialer/socket-link.ts';
import type { ModeName } from '../../desktop-agent/modes.ts';
import type { Engine, GraphRun, RunOutcome } from '../../desktop-agent/ports.ts';
import type { DesktopTables } from '../../desktop-agent/rows.ts';
import { createMemoryState, type MemoryState } from '../../protocol/host/state/memory-state.ts';
import { systemClock, systemIds, systemRandom } from '../../protocol/host/system-ports.ts';
import { graphSessionId } from '../../protocol/ids.ts';
import type { Log, LogFields, Ports, Random } from '../../protocol/ports.ts';
import type { AgentPrincipal, RunView } from '../../server/agent-api.ts';
import { listenHttp } from '../../server/http-server.ts';
import { createRelay, type Relay, type RelayOptions } from '../../server/relay.ts';
import type { RelayTables } from '../../server/rows.ts';
import { handleUpgrades } from '../../server/upgrades.ts';
import { libraryOf, PROJECT } from './one-graph.ts';
import { resetSocket } from './reset-socket.ts';

/** What a test needs of its test object: who cleans up. */
export interface Teardown {
  teardown(run: () => unknown): void;
}

export interface RelayRig {
  readonly port: number;
  readonly url: string;
  readonly relay: Relay;
  /** The token of the connected agent that the runs are queued for. */
  readonly callerToken: string;
  /** Connections that are open at the relay's port. */
  openSockets(): number;
  /** A token for a desktop of its own. */
  desktopToken(): Promise<string>;
  /** Queues a run and resolves with its command's id. */
  queue(sessionId: string, args?: Record<string, unknown>): Promise<string>;
  read(commandId: string): Promise<RunView>;
  /** Resolves when the run has ended. */
  ended(commandId: string, withinMs?: number): Promise<RunView>;
  /** Ends like a killed process, and starts again on the same port with what had become durable. */
  restart(options?: { downMs?: number; gracefully?: boolean }): Promise<void>;
}

type RelayRigOptions = Pick<RelayOptions, 'limits'>;

export async function startRelay(t: Teardown, options: RelayRigOptions = {}): Promise<RelayRig> {
  const ports: Ports = { clock: systemClock, random: systemRandom, ids: systemIds, log: SILENT };
  let store: MemoryState<RelayTables> = createMemoryState<RelayTables>({ clock: systemClock });
  let running = await serve({ ...options, ports, store }, 0);
  const { port, url } = running;
  const { token } = await running.relay.access.createToken({ kind: 'agent', name: 'caller', projects: [PROJECT] });
  const caller = (): AgentPrincipal => running.relay.access.agentOf(token)!;
  function read(commandId: string, waitMs: number): Promise<RunView> {
    const request = { command_id: commandId, waitMs, signal: new AbortController().signal };
    return running.relay.agents.getRun(caller(), request);
  }
  let made = 0;
  t.teardown(() => running.kill());

  const rig: RelayRig = {
    port,
    url,
    callerToken: token,
    openSockets: () => running.sockets.size,
    get relay() {
      return running.relay;
    },
    async desktopToken() {
      made++;
      return (await running.relay.access.createToken({ kind: 'desktop', name: `desktop ${made}` })).token;
    },
    async queue(sessionId, args = {}) {
      const key = `key-${systemIds.uuid()}`;
      const request = { graph_session_id: sessionId, arguments: args, idempotency_key: key };
      return (await running.relay.agents.runSession(caller(), request)).command_id;
    },
    read: (commandId) => read(commandId, 0),
    ended: (commandId, withinMs = 60_000) =>
      waitFor(`the end of run ${commandId}`, withinMs, async () => {
        const run = await read(commandId, 1_000);
        return run.status === 'queued' || run.status === 'running' ? null : run;
      }),
    async restart({ downMs = 0, gracefully = false } = {}) {
      if (gracefully) await running.relay.drain();
      await running.kill();
      store = createMemoryState<RelayTables>({ clock: systemClock, restore: store.crash() });
      await later(downMs);
      running = await serve({ ...options, ports, store }, port);
    },
  };
  return rig;
}

async function serve(options: RelayOptions, port: number) {
  const relay = createRelay(options);
  const { server, url } = await listenHttp(relay.fetch, { host: '127.0.0.1', port });
  handleUpgrades(server, { desktopOf: relay.access.desktopOf, draining: relay.draining, accept: relay.acceptSocket });
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  async function kill(): Promise<void> {
    const closed = new Promise((done) => server.close(done));
    for (const socket of sockets) resetSocket(socket);
    await closed;
    await relay.drain();
  }
  return { relay, url, port: Number(new URL(url).port), sockets, kill };
}

export interface LogLine {
  readonly event: string;
  readonly fields: LogFields;
  /** Monotonic, in milliseconds. */
  readonly at: number;
}

export interface DesktopRig {
  readonly agent: Agent;
  readonly sessionId: string;
  /** Starts of the engine, by command. */
  readonly runs: ReadonlyMap<string, number>;
  readonly lines: readonly LogLine[];
  /** Resolves when the desktop has an answer of the relay, over this transport when it is named. */
  connected(transport?: string, withinMs?: number): Promise<void>;
  stop(): Promise<void>;
}

export interface DesktopRigOptions {
  /** Where the desktop finds the relay: usually a proxy. */
  readonly url: string;
  readonly token: string;
  readonly mode?: ModeName;
  readonly slots?: number;
  /** When it gives a WebSocket up; the production ones take half a minute. */
  readonly times?: LinkTimes;
  /** What a run does; it ends at once with its arguments when this is missing. */
  readonly perform?: (run: GraphRun) => Promise<unknown>;
  /** Backoffs are this share of their bound; without it they are jittered as in production. */
  readonly jitter?: number;
  readonly sessionId?: string;
}

export async function startDesktop(t: Teardown, options: DesktopRigOptions): Promise<DesktopRig> {
  const runs = new Map<string, number>();
  const lines: LogLine[] = [];
  const line = (event: string, fields: LogFields = {}) => void lines.push({ event, fields, at: performance.now() });
  const random: Random = options.jitter === undefined ? systemRandom : { next: () => options.jitter! };
  const log: Log = { debug: line, info: line, warn: line, error: line };
  const sessionId = options.sessionId ?? graphSessionId(systemIds.hex(16));
  const agent = createAgent({
    ports: { clock: systemClock, random, ids: systemIds, log },
    dialers: createDialers({
      url: options.url,
      token: () => options.token,
      clock: systemClock,
      ...createHttpClient({ clock: systemClock, environment: process.env }),
      open: openSocket,
      ...(options.times && { times: options.times }),
    }),
    store: createMemoryState<DesktopTables>(),
    engine: countingEngine(runs, options.perform ?? (async (run) => run.args)),
    library: libraryOf(sessionId),
    mode: options.mode ?? 'auto',
    slots: options.slots ?? 1,
  });
  await agent.sharing.share(PROJECT, sessionId);
  const ended = agent.run();
  const stop = async () => {
    await agent.drain(0);
    await ended;
  };
  t.teardown(stop);
  return {
    agent,
    sessionId,
    runs,
    lines,
    stop,
    async connected(transport, withinMs = 60_000) {
      await waitFor(`a connection${transport ? ` over ${transport}` : ''}`, withinMs, async () => {
        const { connected, transport: now } = agent.snapshot();
        return connected && (transport === undefined || now.transport === transport) ? true : null;
      });
    },
  };
}

function countingEngine(runs: Map<string, number>, perform: (run: GraphRun) => Promise<unknown>): Engine {
  return {
    start(run) {
      runs.set(run.commandId, (runs.get(run.commandId) ?? 0) + 1);
      const done = perform(run).then(completed);
      return { done, cancel() {} };
    },
    close: async () => {},
  };
}

function completed(value: unknown): RunOutcome {
  return {
    status: 'completed',
    resultJson: JSON.stringify(value ?? null),
    error: null,
    totalTokens: 0,
    reportedCost: null,
  };
}

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

export function later(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

/** Looks until there is something, and fails with what was waited for. */
export async function waitFor<T>(what: string, withinMs: number, look: () => Promise<T | null>): Promise<T> {
  const until = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > until) throw new Error(`${what} did not come within ${withinMs} ms`);
    await later(5);
  }
}

/** Each started run, and how often it was started more than once. */
export function startsOf(desktop: DesktopRig): { started: number; twice: number } {
  const counts = [...desktop.runs.values()];
  return { started: counts.length, twice: counts.filter((count) => count > 1).length };
}
