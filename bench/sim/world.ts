/**
 * A relay and its desktops in virtual time: production code of both sides, no sockets, no disk, no real second.
 *
 * Owns the wiring only. What is asked of the world, and what must hold, is up to the test or the bench.
 */
import { type Agent, createAgent } from '../../desktop-agent/agent.ts';
import { createDialers } from '../../desktop-agent/dialer/dialers.ts';
import type { GraphLibrary, LocalSession } from '../../desktop-agent/graph-library.ts';
import type { ModeName } from '../../desktop-agent/modes.ts';
import type { GraphRun, RunOutcome } from '../../desktop-agent/ports.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../desktop-agent/rows.ts';
import { createMemoryState } from '../../protocol/host/state/memory-state.ts';
import { graphSessionId } from '../../protocol/ids.ts';
import type { Log, Ports } from '../../protocol/ports.ts';
import type { AgentPrincipal } from '../../server/agent-api.ts';
import { createRelay, type Relay, type RelayOptions } from '../../server/relay.ts';
import { RELAY_TABLES, type RelayTables } from '../../server/rows.ts';
import { type Fetch, simulatedFetch } from './network.ts';
import { seededIds, seededRandom } from './seeded.ts';
import { simulatedSocket } from './sockets.ts';
import { createTimedEngine } from './timed-engine.ts';
import { VirtualClock } from './virtual-clock.ts';

export interface WorldOptions {
  readonly seed: number;
  /** One desktop for each entry. */
  readonly desktops: readonly DesktopOptions[];
  /** One way, in milliseconds. */
  readonly networkMs?: number;
  /** From a commit until it is durable, on both sides, in milliseconds. */
  readonly diskMs?: number;
  readonly log?: Log;
  readonly limits?: RelayOptions['limits'];
}

export interface DesktopOptions {
  readonly mode?: ModeName;
  readonly slots?: number;
  /** How long each run takes, in milliseconds. */
  readonly runMs: (run: GraphRun) => number;
  /** From a cancel until the engine has stopped. */
  readonly stopMs?: number;
}

/** What happened to a run on a desktop, at which virtual instant (ms). */
export interface Happening {
  readonly commandId: string;
  readonly startedAt: number;
  endedAt: number | null;
  status: RunOutcome['status'] | null;
}

export interface WorldDesktop {
  readonly agent: Agent;
  readonly graphSessionId: string;
  /** Every start of a Graph, in order. */
  readonly happenings: Happening[];
  /** Requests sent so far. */
  readonly requests: () => number;
}

export interface World {
  readonly clock: VirtualClock;
  readonly relay: Relay;
  readonly desktops: readonly WorldDesktop[];
  /** A connected agent with access to the world's project. */
  readonly caller: AgentPrincipal;
  readonly projectId: string;
  /** Another agent with access to the same project. */
  readonly otherCaller: AgentPrincipal;
}

const PROJECT = 'world';
const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** Builds the world and lets its desktops connect. */
export async function createWorld(options: WorldOptions): Promise<World> {
  const clock = new VirtualClock();
  const random = seededRandom(options.seed);
  const ports: Ports = { clock, random, ids: seededIds(random), log: options.log ?? SILENT };
  const syncDelayMs = options.diskMs ?? 0;
  const store = createMemoryState<RelayTables>({ tables: RELAY_TABLES, clock, syncDelayMs });
  const relay = createRelay({ ports, store, limits: options.limits ?? {} });

  const agentToken = (name: string) =>
    clock.settle(relay.access.createToken({ kind: 'agent', name, projects: [PROJECT] }));
  const [first, second] = [await agentToken('caller'), await agentToken('other caller')];

  const desktops: WorldDesktop[] = [];
  for (const [index, desktop] of options.desktops.entries()) {
    const { token } = await clock.settle(
      relay.access.createToken({ kind: 'desktop', name: `desktop ${index + 1}`, projects: [] }),
    );
    desktops.push(await startDesktop({ world: options, ports, clock, relay, token, desktop, index, syncDelayMs }));
  }
  await clock.advance(1_000);
  return {
    clock,
    relay,
    desktops,
    caller: principal(relay, first.token),
    otherCaller: principal(relay, second.token),
    projectId: PROJECT,
  };
}

function principal(relay: Relay, token: string): AgentPrincipal {
  const agent = relay.access.agentOf(token);
  if (agent === null) throw new Error('a token that was just made is not known');
  return agent;
}

async function startDesktop(given: {
  world: WorldOptions;
  ports: Ports;
  clock: VirtualClock;
  relay: Relay;
  token: string;
  desktop: DesktopOptions;
  index: number;
  syncDelayMs: number;
}): Promise<WorldDesktop> {
  const { ports, clock, relay, desktop, index } = given;
  const happenings: Happening[] = [];
  const session = sessionOf(index, ports);
  const delayMs = () => given.world.networkMs ?? 0;
  const open = simulatedSocket({ clock, delayMs, relay, token: given.token });
  let requests = 0;
  const network = simulatedFetch(clock, { delayMs }, relay.fetch);
  const fetch: Fetch = (input, init) => {
    requests++;
    return network(input, init);
  };
  const agent = createAgent({
    ports,
    mode: desktop.mode ?? 'auto',
    slots: desktop.slots ?? 1,
    dialers: createDialers({ url: 'http://relay.test', token: () => given.token, clock, fetch, open }),
    store: createMemoryState<DesktopTables>({ tables: DESKTOP_TABLES, clock, syncDelayMs: given.syncDelayMs }),
    library: libraryOf(session),
    engine: createTimedEngine({
      clock,
      runMs: desktop.runMs,
      ...(desktop.stopMs === undefined ? {} : { stopMs: desktop.stopMs }),
      onStart: (run) =>
        happenings.push({ commandId: run.commandId, startedAt: clock.monotonic(), endedAt: null, status: null }),
      onEnd: (run, outcome) => {
        const happening = happenings.findLast(({ commandId }) => commandId === run.commandId)!;
        happening.endedAt = clock.monotonic();
        happening.status = outcome.status;
      },
    }),
  });
  await clock.settle(agent.sharing.share(PROJECT, session.graph_session_id));
  void agent.run();
  return { agent, graphSessionId: session.graph_session_id, happenings, requests: () => requests };
}

function sessionOf(index: number, { ids }: Ports): LocalSession {
  const slug = `graph-${index + 1}`;
  return {
    graph_session_id: graphSessionId(ids.hex(16)),
    name: `Graph ${index + 1}`,
    description: '',
    slug,
    version: 1,
    status: 'ready',
    file_name: `${slug}.js`,
    problem: null,
  };
}

function libraryOf(session: LocalSession): GraphLibrary {
  return {
    list: () => [session],
    load: async (id) => (id === session.graph_session_id ? { name: session.file_name, source: '' } : null),
  };
}
