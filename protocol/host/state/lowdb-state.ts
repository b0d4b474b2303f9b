/**
 * The durable state of one process: rows in memory, a journal in front, one lowdb file behind.
 *
 * Owns how the parts are put together and the order of opening and closing. A commit costs one line in the journal and
 * one fdatasync, shared with all commits of that moment, whatever the state's size; the journal is folded into the
 * lowdb file in the background. In the folder:
 *
 *     state.json             the state up to some batch (`lowdb-file.ts`)
 *     state.last-good.json   the one before
 *     journal-<n>.log        the batches since (`journal-format.ts`), back to where the last good copy ends
 *     frozen-<n>.jsonl       large texts that are read seldom (`frozen.ts`)
 *     lock                   who works here (`lock.ts`)
 *
 * Two errors can end the opening: StateLockedError and StateDamagedError.
 */
import { join } from 'node:path';
import { RelayError } from '../../errors.ts';
import type { Clock, Log, StateStore, StoreChange, StoreStatus, TableShapes } from '../../ports.ts';
import type { Disk } from './disk.ts';
import { errorText } from './disk.ts';
import { Folder } from './fold.ts';
import type { FrozenTexts } from './frozen.ts';
import { GroupCommit } from './group-commit.ts';
import { Journal } from './journal.ts';
import { type Lock, takeLock } from './lock.ts';
import { DRAFT_MARK } from './lowdb-file.ts';
import { type Recovered, recover } from './recovery.ts';
import { applyChanges, type StateTables } from './tables.ts';

export interface LowdbStateOptions<Tables extends TableShapes> {
  readonly disk: Disk;
  /** Made when it is missing. Nothing else may work in it. */
  readonly directory: string;
  readonly tables: readonly (keyof Tables & string)[];
  readonly log: Log;
  readonly clock: Clock;
  /** The journal is folded when it is larger than this and than twice the state file. */
  readonly foldAfterBytes?: number;
}

/** Larger: a start replays more. Smaller: the state file is written more often, beside the commits. */
const FOLD_AFTER_BYTES = 1024 * 1024;

export async function openLowdbState<Tables extends TableShapes>(
  options: LowdbStateOptions<Tables>,
): Promise<StateStore<Tables>> {
  const { disk, directory, log } = options;
  await disk.makeDirectory(directory);
  const lock = await takeLock(disk, directory);
  try {
    await removeDrafts(options);
    const recovered = await recover(options);
    log.debug('state.opened', { directory, durable: recovered.durable, replayedBytes: recovered.unfoldedBytes });
    return new LowdbState<Tables>(options, lock, recovered);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** What a kill left of files that were being written. One that cannot be removed harms nobody: names are unique. */
async function removeDrafts({ disk, directory, log }: { disk: Disk; directory: string; log: Log }): Promise<void> {
  for (const name of await disk.list(directory)) {
    if (!name.includes(DRAFT_MARK)) continue;
    const path = join(directory, name);
    await disk.remove(path).catch((error) => log.warn('state.cleanup-failed', { path, reason: errorText(error) }));
  }
}

class LowdbState<Tables extends TableShapes> implements StateStore<Tables> {
  readonly #directory: string;
  readonly #lock: Lock;
  readonly #tables: StateTables;
  readonly #texts: FrozenTexts;
  readonly #journal: Journal;
  readonly #commits: GroupCommit;
  readonly #folder: Folder;
  #closing: Promise<void> | null = null;

  constructor(options: LowdbStateOptions<Tables>, lock: Lock, recovered: Recovered) {
    const { disk, directory, clock, log, foldAfterBytes = FOLD_AFTER_BYTES } = options;
    const { tables, texts, durable, base } = recovered;
    this.#directory = directory;
    this.#lock = lock;
    this.#tables = tables;
    this.#texts = texts;
    const journal = new Journal(recovered.end, recovered.unfoldedBytes);
    const onDurable = () => this.#folder.consider();
    const commits = new GroupCommit({ sink: journal, durable, place: directory, clock, log, onDurable });
    this.#journal = journal;
    this.#commits = commits;
    this.#folder = new Folder({ disk, directory, clock, log, tables, texts, commits, journal, base, foldAfterBytes });
    if (recovered.restored) this.#folder.start();
  }

  rows<T extends keyof Tables & string>(table: T): ReadonlyMap<string, Tables[T]> {
    return this.#tables.rows(table) as ReadonlyMap<string, Tables[T]>;
  }

  /** Throws, with nothing changed, for a table that was not declared and for a row that JSON cannot hold. */
  commit(changes: readonly StoreChange<Tables>[]): Promise<void> {
    if (this.#closing !== null) return Promise.reject(this.#closedError());
    if (changes.length === 0) return this.synced();
    this.#tables.check(changes);
    const batch = JSON.stringify(changes);
    applyChanges(changes, this.#tables, this.#texts);
    return this.#commits.add(batch);
  }

  synced(): Promise<void> {
    return this.#commits.synced();
  }

  readFrozen(id: string): Promise<string | null> {
    return this.#texts.read(id);
  }

  /** A fold that fails is shown as a reason too, but commits work meanwhile. */
  status(): StoreStatus {
    const status = this.#commits.status();
    return status.writable ? { writable: true, reason: this.#folder.trouble } : status;
  }

  /** Rejects when what is pending cannot be written; the lock is given back all the same. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    let allWritten = false;
    try {
      await this.#commits.synced();
      allWritten = true;
    } finally {
      if (!allWritten) this.#commits.abandon();
      await this.#folder.close(allWritten);
      this.#commits.abandon();
      await this.#journal.close();
      await this.#lock.release();
    }
  }

  #closedError(): RelayError {
    return new RelayError('store-unavailable', `The state in ${this.#directory} is closed. Start Graph Relay again.`);
  }
}
