/**
 * Which records are kept: the latest ones, up to a number and a size.
 *
 * Owns the removal. A run that goes on here is never removed, and neither is the latest one, however large it is. Other
 * processes write records into the same folder, so what is there is looked at each time.
 */
import type { Log } from '../../protocol/ports.ts';
import type { HistoryLimits } from './history-limits.ts';
import type { RecordFiles, RecordName } from './record-files.ts';

export interface KeptRecordsOptions {
  readonly files: RecordFiles;
  readonly log: Log;
  readonly limits: Pick<HistoryLimits, 'runsKept' | 'totalBytes'>;
  readonly goesOn: (name: RecordName) => boolean;
}

export class KeptRecords {
  readonly #options: KeptRecordsOptions;
  /** As it was when the record was first seen: one that another process writes counts for what it had then. */
  readonly #bytes = new Map<RecordName, number>();

  constructor(options: KeptRecordsOptions) {
    this.#options = options;
  }

  /** Looks at what is there, and removes what is too much. */
  async look(): Promise<void> {
    const { files, goesOn } = this.#options;
    for (const name of await files.names()) {
      if (!this.#bytes.has(name) && !goesOn(name)) this.#bytes.set(name, await files.bytesOf(name));
    }
    await this.#prune();
  }

  async #prune(): Promise<void> {
    const { files, log, limits } = this.#options;
    const { runsKept, totalBytes } = limits;
    const names = [...this.#bytes.keys()].sort();
    let bytes = [...this.#bytes.values()].reduce((sum, size) => sum + size, 0);
    const latest = names.pop();
    while (latest !== undefined && names.length > 0 && (names.length + 1 > runsKept || bytes > totalBytes)) {
      const oldest = names.shift() as RecordName;
      bytes -= this.#bytes.get(oldest) ?? 0;
      this.#bytes.delete(oldest);
      await files.remove(oldest);
      log.debug('history.removed', { record: oldest });
    }
  }
}
