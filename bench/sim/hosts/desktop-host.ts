/**
 * A machine with a desktop: starts instances of its program, kills and stops them, starts copies of the same identity.
 *
 * Owns the instances' lives and disks. Which program it is, is in the options.
 */
import type { LocalSession } from '../../../desktop-agent/graph-library.ts';
import type { ModeName } from '../../../desktop-agent/modes.ts';
import type { MemoryImage } from '../../../protocol/host/state/memory-state.ts';
import type { Random } from '../../../protocol/ports.ts';
import type { Defects } from '../defects.ts';
import { isServed } from '../faults/versions.ts';
import type { Sky } from '../faults/weather.ts';
import { Wire } from '../faults/wire.ts';
import type { CallKind, Contract, History, InstanceRef } from '../history.ts';
import type { Path } from '../paths/path.ts';
import { namedRandom } from '../seeded.ts';
import { Life, type Machine } from './machine.ts';
import { installPlain } from './plain-program.ts';
import { installProduction } from './production-program.ts';
import type { Installed } from './program.ts';
import type { RelayHost } from './relay-host.ts';
import type { GraphHabits } from './simulated-graphs.ts';

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
  readonly contract: Contract;
  /** The versions of the protocol that it names at first. */
  readonly names: string | null;
  /** Of the plain contract: whether it names its start in each sync. */
  readonly namesInstance: boolean;
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

export interface Instance extends Installed {
  readonly ref: InstanceRef;
  readonly life: Life;
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
  /** What the version that is installed names to the relay. */
  #names: string | null;
  #starts = 0;
  #hadCopies = false;

  constructor(options: DesktopHostOptions) {
    this.options = options;
    this.#names = options.names;
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
    const { contract, history, name, machine, defects } = this.options;
    const names = this.#names;
    const ref = { desktop: name, instance: `${name}#${++this.#starts}` };
    const life = new Life(machine, ref.instance);
    const isCopy = copyWith !== null;
    if (isCopy) this.#hadCopies = true;
    const install = contract === 'trpc' ? installProduction : installPlain;
    const installed = install({
      options: this.options,
      ref,
      life,
      image: isCopy ? undefined : this.#image,
      names: defects.names === undefined ? names : defects.names(names),
      sessions: () => this.sessions,
      wire: this.#wire,
      randomOf: (kind) => this.#streamOf(kind),
    });
    const instance: Instance = { ref, life, isCopy, ...installed };
    this.instances.push(instance);
    history.add({ type: 'desktop-started', ...ref, contract, names });
    if (!isServed(contract, names)) history.countFault('no version in common');
    history.tell(ref.instance, isCopy ? 'starts as a copy' : 'starts');
    void this.share(instance, copyWith ?? []);
    void this.#live(instance);
    return instance;
  }

  /** The owner ticks these. A tick that a kill or a refusing disk takes away is one that the owner did not get. */
  async share({ program, ref, life }: Instance, shares: readonly Share[]): Promise<void> {
    let ticked = false;
    const { history, name } = this.options;
    const lost = () => {
      if (!ticked)
        history.add({ type: 'sharing-changed', desktop: name, session: '', how: `lost with ${ref.instance}` });
    };
    life.onEnd(lost);
    const ticks = shares.map(({ projectId, graphSessionId }) => program.share(projectId, graphSessionId));
    const results = await Promise.allSettled(ticks);
    ticked = results.every(({ status }) => status === 'fulfilled');
    if (!ticked) lost();
  }

  /** From the start to the end, as the process does it. */
  async #live(instance: Instance): Promise<void> {
    try {
      const end = await instance.program.run();
      // What has run is still written down, and then it ends.
      if (end !== 'stopped') await this.stop(instance, { graceMs: 10_000, how: end });
    } catch {
      // A desktop that cannot write at its start ends, and whoever watches over it tries again.
      this.#end(instance, 'failed');
      this.options.machine.world.after(SUPERVISOR_MS, () => this.startIfGone());
    }
  }

  /** Another version is installed. It runs from the next start on. */
  install(names: string | null): void {
    this.#names = names;
  }

  get names(): string | null {
    return this.#names;
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
    await instance.program.drain(graceMs).catch(() => {});
    this.#end(instance, how);
  }

  #end(instance: Instance, how: string): void {
    const index = this.instances.indexOf(instance);
    if (index === -1) return;
    this.instances.splice(index, 1);
    const image = instance.disk.crash();
    if (!instance.isCopy) this.#image = this.options.defects.desktopImage?.(image) ?? image;
    instance.life.end();
    this.options.history.add({ type: 'desktop-ended', ...instance.ref, how });
    this.options.history.tell(instance.ref.instance, `ends: ${how}`);
  }

  #streamOf(kind: CallKind): Random {
    let stream = this.#streams.get(kind);
    if (stream === undefined) {
      stream = namedRandom(this.options.seed, `${this.options.name} ${kind}`);
      this.#streams.set(kind, stream);
    }
    return stream;
  }
}
