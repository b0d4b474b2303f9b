/**
 * Which records are kept: the latest ones, up to a number and a size.
 *
 * Owns the removal. A run that goes on is never removed, and neither is the latest one, however large it is.
 */
import type { Log } from '../../protocol/ports.ts';
import type { HistoryLimits } from './history-limits.ts';
import type { RecordFiles, RecordName } from './record-files.ts';

export class KeptRecords {
  readonly #files: RecordFiles;
  readonly #log: Log;
  readonly #limits: Pick<HistoryLimits, 'runsKept' | 'totalBytes'>;
  /** Finished ones, with their size. */
  readonly #bytes = new Map<RecordName, number>();

  constructor(options: {
    readonly files: RecordFiles;
    readonly log: Log;
    readonly limits: Pick<HistoryLimits, 'runsKept' | 'totalBytes'>;
  }) {
    this.#files = options.files;
    this.#log = options.log;
    this.#limits = options.limits;
  }

  /** Looks at what is there. */
  async load(): Promise<void> {
    for (const name of await this.#files.names()) this.#bytes.set(name, await this.#files.bytesOf(name));
    await this.#prune();
  }

  /** A run has ended, and its record is written. */
  async add(name: RecordName): Promise<void> {
    this.#bytes.set(name, await this.#files.bytesOf(name));
    await this.#prune();
  }

  async #prune(): Promise<void> {
    const { runsKept, totalBytes } = this.#limits;
    const names = [...this.#bytes.keys()].sort();
    let bytes = [...this.#bytes.values()].reduce((sum, size) => sum + size, 0);
    const latest = names.pop();
    while (latest !== undefined && names.length > 0 && (names.length + 1 > runsKept || bytes > totalBytes)) {
      const oldest = names.shift() as RecordName;
      bytes -= this.#bytes.get(oldest) ?? 0;
      this.#bytes.delete(oldest);
      await this.#files.remove(oldest);
      this.#log.debug('history.removed', { record: oldest });
    }
  }
}
