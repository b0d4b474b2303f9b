/**
 * One relay, one desktop and two agents in virtual time, production code on both sides, ready to be measured.
 *
 * Owns the wiring. The line and the disks are those of {@link CONDITIONS}; what is asked of the world is a workload's
 * business. Agents sit beside the relay: their own network is no part of any figure.
 */
import { type Agent, createAgent } from '../../desktop-agent/agent.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../desktop-agent/rows.ts';
import { createMemoryState } from '../../protocol/host/state/memory-state.ts';
import type { Log, Ports, StateStore } from '../../protocol/ports.ts';
import { PROTOCOL_VERSION } from '../../protocol/versions.ts';
import type { AgentPrincipal } from '../../server/agent-api.ts';
import { createRelay, type Relay, type RelayOptions } from '../../server/relay.ts';
import { RELAY_TABLES, type RelayTables } from '../../server/rows.ts';
import { benchSession } from '../bench-session.ts';
import type { Fault } from '../faults/fault.ts';
import type { BenchMode } from '../modes/mode.ts';
import { CALM, Sky, type Weather } from '../sim/faults/weather.ts';
import { Wire } from '../sim/faults/wire.ts';
import { History } from '../sim/history.ts';
import { type Life, Machine } from '../sim/hosts/machine.ts';
import { DIRECT_PATH } from '../sim/paths/direct-path.ts';
import type { Path, ServingRelay } from '../sim/paths/path.ts';
import { namedRandom, seededIds } from '../sim/seeded.ts';
import { VirtualClock } from '../sim/virtual-clock.ts';
import { createRunTable, type RunTable } from './bench-engine.ts';
import { EndlessLife, MeteredLife, MeteredMachine } from './lives.ts';
import { Meter } from './meter.ts';
import { meteredPath } from './metered-path.ts';

/** What lies between the two sides. The post has neither. */
export const CONDITIONS = {
  /** One way between desktop and relay, give or take 30 %. */
  way_ms: CALM.wayMs,
  /** From a commit until it is durable, on both sides. */
  disk_ms: 1,
} as const;

export interface BenchWorldOptions {
  readonly seed: number;
  readonly mode: BenchMode;
  readonly fault: Fault;
  readonly slots: number;
  /** From a cancel until the engine has stopped. */
  readonly stopMs: number;
  /** True: the whole stack with each byte counted; false: straight to the handlers, ten times as quick. */
  readonly metered: boolean;
  /** Whether the length of what clients read is counted. */
  readonly weighsAnswers: boolean;
  /** Another disk than that of {@link CONDITIONS}. */
  readonly diskMs?: number | undefined;
  readonly limits?: NonNullable<RelayOptions['limits']>;
  /** Takes something away from the desktop, to see what it is worth. */
  readonly desktopStore?: (store: StateStore<DesktopTables>) => StateStore<DesktopTables>;
}

export interface BenchWorld {
  readonly options: BenchWorldOptions;
  readonly clock: VirtualClock;
  readonly relay: Relay;
  readonly agent: Agent;
  /** What the engine has done. */
  readonly runs: RunTable;
  readonly sky: Sky;
  readonly history: History;
  readonly meter: Meter;
  readonly relayLife: Life;
  readonly caller: AgentPrincipal;
  readonly stranger: AgentPrincipal;
  readonly graphSessionId: string;
}

const PROJECT = 'bench';
const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };
/** Until a desktop has connected, in any mode. Its ticks count from the beginning of this. */
export const SETTLE_MS = 1_000;

export async function createBenchWorld(options: BenchWorldOptions): Promise<BenchWorld> {
  const path = (meter: Meter) => (options.metered ? meteredPath(meter) : DIRECT_PATH);
  const clock = new VirtualClock(options.metered ? 'streams' : 'promises');
  const meter = new Meter(clock);
  const history = new History(clock, { traced: false });
  const { relay, life: relayLife } = startRelay(options, clock);
  const agentOf = async (name: string) => {
    const { token } = await clock.settle(relay.access.createToken({ kind: 'agent', name, projects: [PROJECT] }));
    return relay.access.agentOf(token)!;
  };
  const [caller, stranger] = [await agentOf('caller'), await agentOf('stranger')];
  const made = await clock.settle(relay.access.createToken({ kind: 'desktop', name: 'desktop' }));
  const { token, row } = made;
  const sky = new Sky({ ...CALM, ...(options.fault.weather as Partial<Weather>) });
  const place = { clock, meter, history, relay, relayLife, sky, path: path(meter) };
  const desktop = startDesktop(options, { ...place, token, desktopId: row.subjectId });
  await clock.settle(desktop.agent.sharing.share(PROJECT, desktop.graphSessionId));
  void desktop.agent.run();
  await clock.advance(SETTLE_MS);
  return { options, clock, relay, sky, history, meter, relayLife, caller, stranger, ...desktop };
}

/** Runs may all be queued in one instant here. */
const NO_RATE = { requestsPerAgent: 0, requestsPerDesktop: 0 };

function startRelay(options: BenchWorldOptions, clock: VirtualClock): { relay: Relay; life: Life } {
  const life = new EndlessLife(new Machine(clock), 'relay');
  const ports = portsOf(options.seed, 'relay', life);
  const syncDelayMs = diskMsOf(options);
  const store = createMemoryState<RelayTables>({ tables: RELAY_TABLES, clock: life, syncDelayMs });
  return { relay: createRelay({ ports, store, limits: { ...NO_RATE, ...options.limits } }), life };
}

function diskMsOf({ diskMs = CONDITIONS.disk_ms }: BenchWorldOptions): number {
  return diskMs;
}

function portsOf(seed: number, name: string, clock: Life): Ports {
  return { clock, random: namedRandom(seed, name), ids: seededIds(namedRandom(seed, `${name} ids`)), log: SILENT };
}

interface Place {
  readonly clock: VirtualClock;
  readonly meter: Meter;
  readonly history: History;
  readonly relay: Relay;
  readonly relayLife: Life;
  readonly sky: Sky;
  readonly path: Path;
  readonly token: string;
  readonly desktopId: string;
}

function startDesktop(options: BenchWorldOptions, place: Place) {
  const { seed, mode, slots, stopMs, fault } = options;
  const { clock, meter } = place;
  const machine = options.metered ? new MeteredMachine(clock, meter) : new Machine(clock);
  const life = options.metered ? new MeteredLife(machine, 'desktop', meter) : new EndlessLife(machine, 'desktop');
  const ports = portsOf(seed, 'desktop', life);
  // What the disk and the Graphs do stirs the machine too, but is none of the transport's doing.
  const quiet = new EndlessLife(machine, 'desktop');
  const store = createMemoryState<DesktopTables>({
    tables: DESKTOP_TABLES,
    clock: quiet,
    syncDelayMs: diskMsOf(options),
  });
  const runs = createRunTable({ world: clock, clock: quiet, stopMs });
  const session = benchSession(ports.ids);
  const agent = createAgent({
    ports,
    mode: mode.relay,
    slots,
    dialers: place.path.dialers(dialGiven(options, { ...place, life })),
    store: options.desktopStore?.(store) ?? store,
    engine: runs.engine,
    library: { list: () => [session], load: async () => ({ name: session.file_name, source: '' }) },
  });
  if (fault.sleep !== null) sleepAgainAndAgain(machine, fault.sleep, namedRandom(seed, 'sleep').next());
  return { agent, runs, graphSessionId: session.graph_session_id };
}

function dialGiven({ seed }: BenchWorldOptions, place: Place & { life: Life }) {
  const { clock, history, sky, relay, relayLife, path, token, desktopId, life } = place;
  const caller = 'desktop';
  const serving: ServingRelay = { relay, calls: relay.calls, agents: relay.agents };
  const site = { life: () => relayLife };
  const randomOf = new Map<string, ReturnType<typeof namedRandom>>();
  const streamOf = (name: string) => {
    if (!randomOf.has(name)) randomOf.set(name, namedRandom(seed, name));
    return randomOf.get(name)!;
  };
  let sockets = 0;
  return {
    life,
    token,
    desktopId,
    names: String(PROTOCOL_VERSION),
    serving: () => serving,
    wire: new Wire({ clock, history, sky, site, caller }),
    sockets: {
      clock,
      history,
      sky,
      caller,
      site: {
        ...site,
        refusal: () => null,
        accept: (socket: Parameters<Path['accept']>[1]) => path.accept(serving, socket, desktopId),
      },
      newRandom: () => namedRandom(seed, `socket ${++sockets}`),
    },
    randomOf: streamOf,
  };
}

/** The first sleep is somewhere in the first period. */
function sleepAgainAndAgain(machine: Machine, { every_s, for_s }: NonNullable<Fault['sleep']>, phase: number): void {
  const { world } = machine;
  const sleep = () => {
    machine.sleep();
    world.after(for_s * 1_000, () => machine.wake());
    world.after(every_s * 1_000, sleep);
  };
  world.after(phase * every_s * 1_000, sleep);
}
