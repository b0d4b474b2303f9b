/**
 * The machine of the relay: starts the production relay, kills it, stops it, and starts it again from what its disk had.
 *
 * Owns the relay's lives and its disk. A killed relay never speaks again: its clock is stopped and its answers are
 * dropped by the wire.
 */
import { createMemoryState, type MemoryImage, type MemoryState } from '../../../protocol/host/state/memory-state.ts';
import type { Ports } from '../../../protocol/ports.ts';
import type { ServerSocket } from '../../../server/desktop-sockets.ts';
import { createRelay } from '../../../server/relay.ts';
import { RELAY_TABLES, type RelayTables } from '../../../server/rows.ts';
import type { Defects } from '../defects.ts';
import type { History } from '../history.ts';
import type { Path, ServingRelay } from '../paths/path.ts';
import { namedRandom, seededIds } from '../seeded.ts';
import { Life, type Machine } from './machine.ts';
import { partLog } from './part-log.ts';

export interface RelayHostOptions {
  readonly seed: number;
  readonly machine: Machine;
  readonly history: History;
  readonly path: Path;
  readonly diskMs: number;
  /** The owner's start-by time. */
  readonly startByMs: number;
  readonly defects: Defects;
}

/** One life of the relay. */
export interface RelayLife extends ServingRelay {
  readonly life: Life;
  readonly store: MemoryState<RelayTables>;
}

export class RelayHost {
  readonly #options: RelayHostOptions;
  #serving: RelayLife | null = null;
  #image: MemoryImage | undefined;
  #lives = 0;
  #closed = false;
  #onStart: (() => void)[] = [];

  constructor(options: RelayHostOptions) {
    this.#options = options;
  }

  get machine(): Machine {
    return this.#options.machine;
  }

  /** The life that serves; null while the relay is down. */
  get serving(): RelayLife | null {
    return this.#serving;
  }

  /** The process that takes what arrives now; null while nobody listens. */
  listening(): Life | null {
    return this.#closed ? null : (this.#serving?.life ?? null);
  }

  /** Called after each start, before anything reaches the relay. */
  onStart(run: () => void): void {
    this.#onStart.push(run);
  }

  start(): void {
    if (this.#serving !== null) return;
    const { machine, history, seed, diskMs, startByMs, defects } = this.#options;
    this.#closed = false;
    const name = `relay#${++this.#lives}`;
    const life = new Life(machine, name);
    const random = namedRandom(seed, name);
    const ports: Ports = {
      clock: life,
      random,
      ids: seededIds(namedRandom(seed, `${name} ids`)),
      log: partLog(history, 'relay'),
    };
    const restore = this.#image === undefined ? {} : { restore: this.#image };
    const store = createMemoryState<RelayTables>({
      tables: RELAY_TABLES,
      clock: life,
      syncDelayMs: diskMs,
      ...restore,
    });
    const used = defects.relayStore?.(store) ?? store;
    // The short path has no MCP endpoint that could tell less: both paths are told all.
    const relay = createRelay({ ports, store: used, limits: { startByDefaultMs: startByMs, toldRuns: 0 } });
    const calls = defects.calls?.(relay.calls, used) ?? relay.calls;
    const agents = defects.agents?.(relay.agents) ?? relay.agents;
    this.#serving = { life, store, relay, calls, agents };
    history.add({ type: 'relay-started' });
    history.tell('relay', 'starts');
    for (const run of this.#onStart) run();
  }

  /** What is not on the disk is gone, and nobody is told. */
  kill(): void {
    this.#end('killed');
  }

  /** As the process does when it is asked to stop. It is down when this resolves. */
  async drain(): Promise<void> {
    const serving = this.#serving;
    if (serving === null) return;
    this.#options.history.tell('relay', 'drains');
    // When the disk refuses to the end, the process ends all the same.
    await serving.relay.drain().catch(() => {});
    // Nobody listens any more. Answers that are on their way get a moment.
    this.#closed = true;
    await new Promise<void>((resume) => serving.life.after(500, resume));
    await serving.store.close().catch(() => {});
    // What waited for the same write goes out before the end.
    await new Promise<void>((resume) => serving.life.after(1, resume));
    if (serving === this.#serving) this.#end('drained');
  }

  accept(socket: ServerSocket, desktopId: string): void {
    const serving = this.#serving!;
    this.#options.path.accept(serving, socket, desktopId);
  }

  refuseWrites(reason: string | null): void {
    this.#serving?.store.failWrites(reason);
  }

  #end(how: 'killed' | 'drained'): void {
    const serving = this.#serving;
    if (serving === null) return;
    this.#serving = null;
    const image = serving.store.crash();
    this.#image = this.#options.defects.relayImage?.(image) ?? image;
    serving.life.end();
    this.#options.history.add({ type: 'relay-ended', how });
    this.#options.history.tell('relay', `is ${how}`);
  }
}
