/**
 * Folding: the journal's changes become the state file, and the journal begins anew behind it.
 *
 * Owns when that happens, in which order, and what may be deleted afterwards. Commits go on meanwhile; a fold that
 * fails costs nothing but a longer journal, and is tried again. One fold at a time.
 */
import { join } from 'node:path';
import { Low } from 'lowdb';
import type { Clock, Log, Timer } from '../../ports.ts';
import type { Disk } from './disk.ts';
import { errorText, writeNewFile } from './disk.ts';
import {
  encodeFrozen,
  type FrozenEntries,
  type FrozenTexts,
  frozenFiles,
  frozenName,
  frozenNumbers,
} from './frozen.ts';
import type { GroupCommit } from './group-commit.ts';
import { createSegment, type Journal } from './journal.ts';
import { segmentName, segmentNumbers } from './journal-format.ts';
import { type FoldedState, LowdbFile } from './lowdb-file.ts';
import type { Base } from './recovery.ts';
import type { StateTables } from './tables.ts';

export interface FolderOptions {
  readonly disk: Disk;
  readonly directory: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly tables: StateTables;
  readonly texts: FrozenTexts;
  readonly commits: GroupCommit;
  readonly journal: Journal;
  readonly base: Base;
  readonly foldAfterBytes: number;
}

/** Longer: the journal of a folder that was blocked grows longer. Shorter: a blocked folder is rewritten in vain. */
const RETRY_MS = 30_000;

/** What one fold writes: the state at the end of a segment, and the texts that are not in a file yet. */
interface Snapshot extends FoldedState {
  readonly texts: ReadonlyMap<string, string>;
  readonly unfoldedBytes: number;
}

export class Folder {
  readonly #options: FolderOptions;
  readonly #file: LowdbFile;
  /** What the present state file needs beside it. */
  #base: Base;
  #folding: Promise<void> | null = null;
  #trouble: string | null = null;
  #retry: Timer | null = null;
  #closed = false;

  constructor(options: FolderOptions) {
    this.#options = options;
    this.#file = new LowdbFile(options);
    this.#base = options.base;
  }

  /** Why folding does not work at present, for a person; null while it does. */
  get trouble(): string | null {
    return this.#trouble;
  }

  /** Starts a fold when the journal has grown enough to be worth it. */
  consider(): void {
    const { journal, foldAfterBytes } = this.#options;
    const worthIt = journal.unfoldedBytes > Math.max(foldAfterBytes, 2 * this.#base.bytes);
    if (worthIt && this.#retry === null) this.start();
  }

  /** Folds in the background. Failing is not the caller's concern: it is logged, shown, and tried again. */
  start(): void {
    if (this.#closed) return;
    this.#folding ??= this.#fold()
      .catch((error) => this.#failed(error))
      .finally(() => {
        this.#folding = null;
      });
  }

  /** Ends folding, after a last fold when the journal holds anything and it is wanted. */
  async close(lastFold: boolean): Promise<void> {
    await this.#folding;
    if (lastFold && this.#options.journal.unfoldedBytes > 0) {
      this.start();
      await this.#folding;
    }
    this.#closed = true;
    this.#retry?.cancel();
  }

  async #fold(): Promise<void> {
    const { disk, directory } = this.#options;
    const names = await disk.list(directory);
    const snapshot = await this.#cutJournal();
    const file = Math.max(0, ...frozenNumbers(names)) + 1;
    const newEntries = await this.#writeFrozen(file, snapshot.texts);
    const { through, segment, tables } = snapshot;
    const state = { through, segment, tables, frozen: [...snapshot.frozen, ...newEntries] };
    await this.#writeState(state, file);
    await this.#folded(snapshot, state, newEntries);
  }

  /** Ends the present journal segment and begins the next one. */
  async #cutJournal(): Promise<Snapshot> {
    const { disk, directory, commits, journal } = this.#options;
    const next = await createSegment(disk, directory, journal.segment + 1);
    let idleFile = next.file;
    let unfoldedBytes = 0;
    try {
      const contents = await commits.cut(
        (through) => this.#contents(through),
        () => {
          unfoldedBytes = journal.unfoldedBytes;
          idleFile = journal.switchTo(next);
        },
      );
      return { ...contents, segment: next.number, unfoldedBytes };
    } finally {
      await idleFile.close();
    }
  }

  /** Copies of references only, since rows never change in place. The costly part, making text of it, comes later. */
  #contents(through: number) {
    const { tables, texts } = this.#options;
    const { entries, texts: unfiled } = texts.snapshot();
    return { through, tables: tables.entries(), frozen: entries, texts: unfiled };
  }

  async #writeFrozen(file: number, texts: ReadonlyMap<string, string>): Promise<FrozenEntries> {
    if (texts.size === 0) return [];
    const { disk, directory } = this.#options;
    const path = join(directory, frozenName(file));
    const { bytes, entries } = encodeFrozen(file, texts);
    try {
      await writeNewFile(disk, path, bytes);
      // The state file that is written next must never refer to a name that a power cut takes away.
      await disk.syncDirectory(directory);
    } catch (error) {
      await disk.remove(path).catch(() => {});
      throw error;
    }
    return entries;
  }

  async #writeState(state: FoldedState, file: number): Promise<void> {
    const { disk, directory } = this.#options;
    try {
      await new Low(this.#file, state).write();
    } catch (error) {
      // A state file that got its name before the failure refers to the frozen file, so that must stay.
      if (this.#file.published) this.#base = { ...this.#base, frozenFiles: new Set([...this.#base.frozenFiles, file]) };
      else await disk.remove(join(directory, frozenName(file))).catch(() => {});
      throw error;
    }
  }

  async #folded(snapshot: Snapshot, state: FoldedState, newEntries: FrozenEntries): Promise<void> {
    const { texts, journal, log } = this.#options;
    texts.settle(snapshot.texts, newEntries);
    journal.folded(snapshot.unfoldedBytes);
    const lastGood = this.#base;
    this.#base = { segment: state.segment, frozenFiles: frozenFiles(state.frozen), bytes: this.#file.bytes };
    this.#trouble = null;
    this.#retry?.cancel();
    this.#retry = null;
    log.debug('state.folded', { through: state.through, segment: state.segment, bytes: this.#file.bytes });
    await this.#removeUnneeded(lastGood);
  }

  /** What neither the state file nor the last good copy needs. A file that cannot be removed now goes next time. */
  async #removeUnneeded(lastGood: Base): Promise<void> {
    const { disk, directory, texts, log } = this.#options;
    const needed = new Set([...texts.liveFiles(), ...lastGood.frozenFiles, ...this.#base.frozenFiles]);
    try {
      const names = await disk.list(directory);
      const segments = segmentNumbers(names).filter((number) => number < lastGood.segment);
      const frozen = frozenNumbers(names).filter((number) => !needed.has(number));
      for (const name of [...segments.map(segmentName), ...frozen.map(frozenName)]) {
        await disk.remove(join(directory, name));
      }
    } catch (error) {
      log.warn('state.cleanup-failed', { directory, reason: errorText(error) });
    }
  }

  #failed(error: unknown): void {
    const { log, clock, directory } = this.#options;
    log.warn('state.fold-failed', { directory, reason: errorText(error) });
    this.#trouble =
      `The state file in ${directory} cannot be renewed (${errorText(error)}). Changes are stored in the journal ` +
      'meanwhile, and it is tried again.';
    if (this.#closed) return;
    this.#retry ??= clock.after(RETRY_MS, () => {
      this.#retry = null;
      this.start();
    });
  }
}
