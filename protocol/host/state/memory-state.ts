/**
 * A state without a disk, for tests and the simulation, with the durability of the real one.
 *
 * Owns an image of what would be on disk after a kill. The image goes through JSON as the real one does, and it gets
 * whole batches in order, each `syncDelayMs` after its write began. Must not be used where something is to last.
 */
import { RelayError } from '../../errors.ts';
import type { Clock, Log, StateStore, StoreChange, StoreStatus, TableShapes } from '../../ports.ts';
import { GroupCommit } from './group-commit.ts';
import { applyChanges, StateTables, type TableEntries, type TextSink } from './tables.ts';

/** What had become durable when a state crashed. */
export interface MemoryImage {
  readonly tables: TableEntries;
  readonly frozen: readonly (readonly [id: string, text: string])[];
}

export interface MemoryStateOptions<Tables extends TableShapes> {
  /** Without it, any table may be used. */
  readonly tables?: readonly (keyof Tables & string)[];
  /** Starts with what a crashed one had made durable. */
  readonly restore?: MemoryImage;
  /** How long a write takes; 0, the default, is within the turn. Anything else needs the clock. */
  readonly syncDelayMs?: number;
  /** Without it, refused writes are tried again only with the next commit. */
  readonly clock?: Pick<Clock, 'after'>;
  readonly log?: Log;
}

export interface MemoryState<Tables extends TableShapes> extends StateStore<Tables> {
  /** A kill: what is not durable is gone, and no promise of this state settles any more. */
  crash(): MemoryImage;
  /** Makes writes fail, with this reason, until it is called with null. */
  failWrites(reason: string | null): void;
}

export function createMemoryState<Tables extends TableShapes>(
  options: MemoryStateOptions<Tables> = {},
): MemoryState<Tables> {
  return new MemoryStateStore<Tables>(options);
}

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} };
const NO_TIMERS: Pick<Clock, 'after'> = { after: () => ({ cancel() {} }) };

class MemoryStateStore<Tables extends TableShapes> implements MemoryState<Tables> {
  readonly #tables: StateTables;
  readonly #texts: TextMap;
  readonly #image: { readonly tables: StateTables; readonly texts: TextMap };
  readonly #commits: GroupCommit;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #syncDelayMs: number;
  #failure: string | null = null;
  #crashed = false;
  #closing: Promise<void> | null = null;

  constructor(options: MemoryStateOptions<Tables>) {
    const { tables = null, restore, syncDelayMs = 0, clock = NO_TIMERS, log = SILENT } = options;
    this.#clock = clock;
    this.#syncDelayMs = syncDelayMs;
    this.#tables = new StateTables(tables, restore?.tables);
    this.#texts = new TextMap(restore?.frozen);
    this.#image = { tables: new StateTables(null, restore?.tables), texts: new TextMap(restore?.frozen) };
    const sink = { write: (batches: readonly string[]) => this.#write(batches) };
    this.#commits = new GroupCommit({ sink, durable: 0, place: 'memory', clock, log });
  }

  rows<T extends keyof Tables & string>(table: T): ReadonlyMap<string, Tables[T]> {
    return this.#tables.rows(table) as ReadonlyMap<string, Tables[T]>;
  }

  commit(changes: readonly StoreChange<Tables>[]): Promise<void> {
    if (this.#crashed) return never();
    if (this.#closing !== null) return Promise.reject(closedError());
    if (changes.length === 0) return this.synced();
    this.#tables.check(changes);
    const batch = JSON.stringify(changes);
    applyChanges(changes, this.#tables, this.#texts);
    return this.#commits.add(batch);
  }

  synced(): Promise<void> {
    return this.#crashed ? never() : this.#commits.synced();
  }

  async readFrozen(id: string): Promise<string | null> {
    return this.#texts.get(id);
  }

  status(): StoreStatus {
    return this.#commits.status();
  }

  close(): Promise<void> {
    this.#closing ??= this.synced().finally(() => this.#commits.abandon());
    return this.#closing;
  }

  crash(): MemoryImage {
    this.#crashed = true;
    this.#commits.abandon();
    return { tables: this.#image.tables.entries(), frozen: this.#image.texts.entries() };
  }

  failWrites(reason: string | null): void {
    this.#failure = reason;
  }

  async #write(batches: readonly string[]): Promise<void> {
    if (this.#syncDelayMs > 0) await new Promise<void>((resume) => this.#clock.after(this.#syncDelayMs, resume));
    if (this.#crashed) return never();
    if (this.#failure !== null) throw new Error(this.#failure);
    for (const batch of batches) applyChanges(JSON.parse(batch), this.#image.tables, this.#image.texts);
  }
}

class TextMap implements TextSink {
  readonly #texts: Map<string, string>;

  constructor(entries: MemoryImage['frozen'] = []) {
    this.#texts = new Map(entries);
  }

  put(id: string, text: string | null): void {
    if (text === null) this.#texts.delete(id);
    else this.#texts.set(id, text);
  }

  get(id: string): string | null {
    return this.#texts.get(id) ?? null;
  }

  entries(): MemoryImage['frozen'] {
    return [...this.#texts];
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}

function closedError(): RelayError {
  return new RelayError('store-unavailable', 'The state is closed.');
}
