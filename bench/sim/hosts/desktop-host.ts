/**
 * A machine with a desktop: starts instances of the production agent, kills and stops them, starts copies of the same
 * identity, puts the machine to sleep.
 *
 * Owns the instances' lives and disks. What its Graphs do is drawn from the command, so it does not depend on when or
 * where they run.
 */
import { type Agent, createAgent } from '../../../desktop-agent/agent.ts';
import type { GraphLibrary, LocalSession } from '../../../desktop-agent/graph-library.ts';
import type { ModeName } from '../../../desktop-agent/modes.ts';
import type { Engine, GraphRun, RunOutcome } from '../../../desktop-agent/ports.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../../desktop-agent/rows.ts';
import { createMemoryState, type MemoryImage, type MemoryState } from '../../../protocol/host/state/memory-state.ts';
import type { Ports, Random, StateStore } from '../../../protocol/ports.ts';
import type { Defects } from '../defects.ts';
import { Dice } from '../faults/dice.ts';
import type { Sky } from '../faults/weather.ts';
import { Wire } from '../faults/wire.ts';
import type { CallKind, History, InstanceRef } from '../history.ts';
import type { Path } from '../paths/path.ts';
import { namedRandom, seededIds } from '../seeded.ts';
import { completedWith, createTimedEngine, outcomeWithoutResult } from '../timed-engine.ts';
import { Life, type Machine } from './machine.ts';
import { observed } from './observed-dialers.ts';
import { partLog } from './part-log.ts';
import type { RelayHost } from './relay-host.ts';

export interface GraphHabits {
  readonly minMs: number;
  readonly maxMs: number;
  readonly stopMs: number;
  readonly failShare: number;
}

export interface DesktopHostOptions {
  readonly seed: number;
  readonly name: string;
  readonly machine: Machine;
  readonly history: History;
  readonly path: Path;
  readonly relay: RelayHost;
  readonly sky: Sky;
  readonly desktopId: string;
  readonly token: string;
  readonly mode: ModeName;
  readonly slots: number;
  readonly diskMs: number;
  readonly graphs: GraphHabits;
  readonly defects: Defects;
}

/** What the owner ticked: a session for a project. */
export interface Share {
  readonly projectId: string;
  readonly graphSessionId: string;
}

export interface Instance {
  readonly ref: InstanceRef;
  readonly life: Life;
  readonly agent: Agent;
  readonly store: MemoryState<DesktopTables>;
  /** Another machine with the same identity and a disk of its own. */
  readonly isCopy: boolean;
}

const SUPERVISOR_MS = 2_000;

export class DesktopHost {
  readonly sessions: LocalSession[] = [];
  readonly options: DesktopHostOptions;
  readonly instances: Instance[] = [];
  readonly #streams = new Map<CallKind, Random>();
  readonly #wire: Wire;
  #image: MemoryImage | undefined;
  #starts = 0;
  #hadCopies = false;

  constructor(options: DesktopHostOptions) {
    this.options = options;
    const { history, sky, relay, name, machine } = options;
    const site = { life: () => relay.listening() };
    this.#wire = new Wire({ clock: machine.world, history, sky, site, caller: name });
  }

  /** The instance with the desktop's own disk, if it lives. */
  get primary(): Instance | null {
    return this.instances.find(({ isCopy }) => !isCopy) ?? null;
  }

  /** Whether another machine has ever used this desktop's identity. */
  get hadCopies(): boolean {
    return this.#hadCopies;
  }

  /** Starts the desktop from its own disk; a copy, with this sharing, from an empty one. */
  start(copyWith: readonly Share[] | null = null): Instance {
    const { history, name, machine, diskMs, defects } = this.options;
    const ref = { desktop: name, instance: `${name}#${++this.#starts}` };
    const life = new Life(machine, ref.instance);
    const isCopy = copyWith !== null;
    if (isCopy) this.#hadCopies = true;
    const restore = this.#image === undefined || isCopy ? {} : { restore: this.#image };
    const store = createMemoryState<DesktopTables>({
      tables: DESKTOP_TABLES,
      clock: life,
      syncDelayMs: diskMs,
      ...restore,
    });
    const agent = this.#createAgent(ref, life, defects.desktopStore?.(store) ?? store);
    const instance: Instance = { ref, life, agent, store, isCopy };
    this.instances.push(instance);
    history.add({ type: 'desktop-started', ...ref });
    history.tell(ref.instance, isCopy ? 'starts as a copy' : 'starts');
    void this.share(instance, copyWith ?? []);
    void this.#live(instance);
    return instance;
  }

  /** The owner ticks these. A tick that a kill or a refusing disk takes away is one that the owner did not get. */
  async share({ agent, ref, life }: Instance, shares: readonly Share[]): Promise<void> {
    let ticked = false;
    const { history, name } = this.options;
    const lost = () => {
      if (!ticked)
        history.add({ type: 'sharing-changed', desktop: name, session: '', how: `lost with ${ref.instance}` });
    };
    life.onEnd(lost);
    const ticks = shares.map(({ projectId, graphSessionId }) => agent.sharing.share(projectId, graphSessionId));
    const results = await Promise.allSettled(ticks);
    ticked = results.every(({ status }) => status === 'fulfilled');
    if (!ticked) lost();
  }

  /** From the start to the end, as the process does it. */
  async #live(instance: Instance): Promise<void> {
    try {
      const end = await instance.agent.run();
      // What has run is still written down, and then it ends.
      if (end !== 'stopped') await this.stop(instance, { graceMs: 10_000, how: end });
    } catch {
      // A desktop that cannot write at its start ends, and whoever watches over it tries again.
      this.#end(instance, 'failed');
      this.options.machine.world.after(SUPERVISOR_MS, () => this.startIfGone());
    }
  }

  startIfGone(): void {
    if (this.primary === null) this.start();
  }

  kill(instance: Instance): void {
    this.#end(instance, 'killed');
  }

  /** As the process does when it is asked to stop. It has ended when this resolves. */
  async stop(instance: Instance, { graceMs, how }: { graceMs: number; how: string }): Promise<void> {
    // When the disk refuses to the end, the process ends all the same.
    await instance.agent.drain(graceMs).catch(() => {});
    this.#end(instance, how);
  }

  #end(instance: Instance, how: string): void {
    const index = this.instances.indexOf(instance);
    if (index === -1) return;
    this.instances.splice(index, 1);
    const image = instance.store.crash();
    if (!instance.isCopy) this.#image = this.options.defects.desktopImage?.(image) ?? image;
    instance.life.end();
    this.options.history.add({ type: 'desktop-ended', ...instance.ref, how });
    this.options.history.tell(instance.ref.instance, `ends: ${how}`);
  }

  #createAgent(ref: InstanceRef, life: Life, store: StateStore<DesktopTables>): Agent {
    const { history, seed, path, relay, sky, name, desktopId, token, mode, slots, defects } = this.options;
    const ports: Ports = {
      clock: life,
      random: namedRandom(seed, ref.instance),
      ids: seededIds(namedRandom(seed, `${ref.instance} ids`)),
      log: partLog(history, ref.instance),
    };
    const site = {
      life: () => relay.listening(),
      takesSockets: () => relay.serving?.relay.draining() === false,
      accept: (socket: Parameters<RelayHost['accept']>[0]) => relay.accept(socket, desktopId),
    };
    let sockets = 0;
    const newRandom = () => namedRandom(seed, `${ref.instance} socket ${++sockets}`);
    const dialers = path.dialers({
      life,
      wire: this.#wire,
      sockets: { clock: life.machine.world, history, sky, site, caller: name, newRandom },
      serving: () => relay.serving!,
      desktopId,
      token,
      randomOf: (kind) => this.#streamOf(kind),
    });
    return createAgent({
      ports,
      dialers: observed(defects.dialers?.(dialers) ?? dialers, { history, ref, clock: life.machine.world }),
      store,
      engine: this.#createEngine(ref, life),
      library: this.#library(),
      mode,
      slots: defects.slots?.(slots) ?? slots,
    });
  }

  #streamOf(kind: CallKind): Random {
    let stream = this.#streams.get(kind);
    if (stream === undefined) {
      stream = namedRandom(this.options.seed, `${this.options.name} ${kind}`);
      this.#streams.set(kind, stream);
    }
    return stream;
  }

  #library(): GraphLibrary {
    return {
      list: () => this.sessions,
      load: async (id) => {
        const session = this.sessions.find(({ graph_session_id }) => graph_session_id === id);
        return session === undefined ? null : { name: session.file_name, source: '' };
      },
    };
  }

  #createEngine(ref: InstanceRef, life: Life): Engine {
    const { history, seed, graphs, defects } = this.options;
    const habitsOf = (run: GraphRun) => {
      const dice = new Dice(namedRandom(seed, run.commandId));
      return { runMs: dice.magnitude(graphs.minMs, graphs.maxMs), fails: dice.chance(graphs.failShare) };
    };
    const ids = ({ commandId, executionId }: GraphRun) => ({ commandId, executionId });
    const engine = createTimedEngine({
      clock: life,
      runMs: (run) => habitsOf(run).runMs,
      stopMs: graphs.stopMs,
      ending: (run): RunOutcome =>
        habitsOf(run).fails
          ? outcomeWithoutResult('failed', 'the Graph threw')
          : completedWith({ by: run.executionId, args: run.args }),
      onStart: (run) => {
        history.add({ type: 'engine-started', ...ref, ...ids(run) });
        history.tell(ref.instance, 'ENGINE STARTS', run.commandId);
      },
      onEnd: (run, outcome) => {
        history.add({ type: 'engine-ended', ...ref, ...ids(run), status: outcome.status, result: outcome.resultJson });
        history.tell(ref.instance, `ENGINE ENDS ${outcome.status}`, run.commandId);
      },
    });
    return defects.engine?.(engine) ?? engine;
  }
}
