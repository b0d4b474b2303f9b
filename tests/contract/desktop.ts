/**
 * Our whole desktop before a relay of `support.ts`, in virtual time: it can lose its network, its power, or its rights.
 *
 * Owns the wire between the two. What a Graph does is the test's.
 */
import { type Fetch, simulatedFetch } from '../../bench/sim/network.ts';
import { createTimedEngine } from '../../bench/sim/timed-engine.ts';
import { type Agent, createAgent } from '../../desktop-agent/agent.ts';
import { createDialers } from '../../desktop-agent/dialer/dialers.ts';
import type { Engine } from '../../desktop-agent/ports.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../desktop-agent/rows.ts';
import { createMemoryState, type MemoryImage, type MemoryState } from '../../protocol/host/state/memory-state.ts';
import type { Log, LogFields } from '../../protocol/ports.ts';
import { PROJECT, SECOND, session, type TestRelay } from './support.ts';

export const TRIP_MS = 20;

export interface DesktopLine {
  readonly event: string;
  readonly fields: LogFields;
}

export interface DesktopOptions {
  readonly runMs?: number;
  /** In place of an engine whose Graphs take `runMs` and give back their arguments. */
  readonly engine?: (desktop: { started: string[] }) => Engine;
  /** Changes a request before the relay gets it. */
  readonly onRequest?: (request: Request) => Request;
}

export interface WholeDesktop {
  readonly agent: Agent;
  /** Resolves with why its loop ended. */
  readonly ended: Promise<string>;
  readonly store: MemoryState<DesktopTables>;
  /** Commands whose Graph was started, in order, over all starts of the desktop. */
  readonly started: string[];
  readonly lines: readonly DesktopLine[];
  /** Without it, nothing passes either way, and nobody is told. */
  network: boolean;
  /** The power goes: nobody is told, and what was not on disk is lost. */
  powerOff(): void;
  /** A new process on what was on disk when the power went, which is now unless it was before. */
  reborn(changes?: DesktopOptions): Promise<WholeDesktop>;
}

/** A desktop that shares session 1, and is connected. */
export async function startWholeDesktop(world: TestRelay, options: DesktopOptions = {}): Promise<WholeDesktop> {
  const store = createMemoryState<DesktopTables>({ tables: DESKTOP_TABLES, clock: world.clock });
  const row = { projectId: PROJECT, sessionIds: [session(1).graph_session_id] };
  await world.settle(store.commit([{ table: 'share', id: PROJECT, row }]));
  return begin(world, { options, store, started: [] });
}

async function begin(
  world: TestRelay,
  given: { options: DesktopOptions; store: MemoryState<DesktopTables>; started: string[] },
): Promise<WholeDesktop> {
  const { clock, ports } = world;
  const { options, store, started } = given;
  const { runMs = SECOND } = options;
  const lines: DesktopLine[] = [];
  const line = (event: string, fields: LogFields = {}) => void lines.push({ event, fields });
  const log: Log = { debug: line, info: line, warn: line, error: line };
  const wire: Wire = { network: true };
  let disk: MemoryImage | null = null;
  const graph = { ...session(1), file_name: 'graph-1.js', problem: null };
  const onStart = ({ commandId }: { commandId: string }) => void started.push(commandId);
  const agent = createAgent({
    ports: { ...ports, log },
    dialers: createDialers({
      url: 'http://relay.test',
      token: () => world.desktops[0]!,
      clock,
      fetch: fetchOver(world, wire, options.onRequest),
      open: () => ({ send() {}, terminate() {} }),
    }),
    store,
    library: { list: () => [graph], load: async () => ({ name: graph.file_name, source: '' }) },
    engine: options.engine?.({ started }) ?? createTimedEngine({ clock, runMs: () => runMs, onStart }),
  });
  const ended = agent.run();
  await clock.advance(SECOND);
  const desktop: WholeDesktop = {
    agent,
    ended,
    store,
    started,
    lines,
    get network() {
      return wire.network;
    },
    set network(passes) {
      wire.network = passes;
    },
    powerOff() {
      wire.network = false;
      disk ??= store.crash();
      // What is left of the old process talks to nobody; it must not keep the clock busy.
      void agent.drain(0);
    },
    reborn(changes = {}) {
      desktop.powerOff();
      const restored = createMemoryState<DesktopTables>({ tables: DESKTOP_TABLES, clock, restore: disk! });
      return begin(world, { options: { ...options, ...changes }, store: restored, started });
    },
  };
  return desktop;
}

interface Wire {
  network: boolean;
}

/** Without the network nothing passes, and a call that is taken back is not told to the other side. */
function fetchOver(world: TestRelay, wire: Wire, onRequest = (request: Request) => request): Fetch {
  const handler = async (request: Request): Promise<Response> => {
    if (!wire.network) return new Promise(() => {});
    const answer = await world.relay.fetch(onRequest(request));
    return wire.network ? answer : new Promise(() => {});
  };
  const raw = simulatedFetch(world.clock, { delayMs: () => TRIP_MS }, handler);
  return (input, init) => {
    const told = new AbortController();
    const taken = Promise.withResolvers<never>();
    const take = () => {
      if (wire.network) told.abort();
      taken.reject(new DOMException('The call was taken back.', 'AbortError'));
    };
    if (init?.signal?.aborted) take();
    else init?.signal?.addEventListener('abort', take, { once: true });
    return Promise.race([raw(input, { ...init, signal: told.signal }), taken.promise]);
  };
}
