/**
 * Writes the lines of one record, behind the run's back.
 *
 * Owns what waits to be written. Nobody waits for it, and it never throws: a disk that is slow or full costs lines, which
 * are counted, and one line of the log. What was handed over in part is written again at the same place, so a record
 * has no torn line but the last one, after a kill.
 */
import type { Clock, Log, Timer } from '../../protocol/ports.ts';
import type { HistoryLimits } from './history-limits.ts';
import type { RecordFiles, RecordName } from './record-files.ts';

/** Small lines are written together, up to about this much. */
const BATCH_BYTES = 64 * 1024;

/** What waits in all writers of one history together. */
export interface WaitingBytes {
  bytes: number;
}

export interface RecordWriterOptions {
  readonly files: RecordFiles;
  readonly name: RecordName;
  readonly commandId: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Pick<HistoryLimits, 'waitingBytes' | 'flushMs' | 'retryMs'>;
  readonly all: WaitingBytes;
}

export class RecordWriter {
  readonly #options: RecordWriterOptions;
  readonly #waiting: Buffer[] = [];
  #position = 0;
  #isThere = false;
  #failing = false;
  #lost = 0;
  #timer: Timer | null = null;
  /** Under way, or done. */
  #writing: Promise<boolean> = Promise.resolve(true);
  #next: Promise<boolean> | null = null;

  constructor(options: RecordWriterOptions) {
    this.#options = options;
  }

  /** Lines that nobody will ever see. */
  get lostLines(): number {
    return this.#lost;
  }

  /** Whether all is on the disk, as far as the system says. */
  get isWritten(): boolean {
    return this.#waiting.length === 0;
  }

  /** False when the line is lost. `mustKeep` for the one short line without which the rest means nothing. */
  append(line: string, { mustKeep = false } = {}): boolean {
    const { limits, all } = this.#options;
    const bytes = Buffer.from(`${line}\n`);
    const tooMuch = all.bytes > 0 && all.bytes + bytes.length > limits.waitingBytes;
    if (tooMuch && !mustKeep) {
      this.#lost += 1;
      return false;
    }
    this.#waiting.push(bytes);
    all.bytes += bytes.length;
    if (!this.#failing) this.#writeIn(limits.flushMs);
    return true;
  }

  /** Writes all that waits. Resolves with whether that worked; when not, it is tried again later by itself. */
  flush(): Promise<boolean> {
    this.#timer?.cancel();
    this.#timer = null;
    // After the one that is under way: it may have taken its last line already.
    this.#next ??= this.#writing.then(() => {
      this.#next = null;
      this.#writing = this.#write();
      return this.#writing;
    });
    return this.#next;
  }

  /** Gives up what could not be written. */
  close(): void {
    this.#timer?.cancel();
    this.#options.all.bytes -= this.#waiting.reduce((sum, line) => sum + line.length, 0);
    this.#waiting.length = 0;
  }

  #writeIn(delayMs: number): void {
    this.#timer ??= this.#options.clock.after(delayMs, () => void this.flush());
  }

  async #write(): Promise<boolean> {
    const { files, name, commandId, log, limits } = this.#options;
    try {
      if (this.#waiting.length > 0) {
        const file = await files.open(name, this.#isThere ? 'extend' : 'new');
        this.#isThere = true;
        try {
          while (this.#waiting.length > 0) await this.#writeBatch((bytes) => file.write(bytes, this.#position));
        } finally {
          await file.close();
        }
      }
      if (this.#failing) log.info('history.written-again', { command_id: commandId });
      this.#failing = false;
      return true;
    } catch (error) {
      if (!this.#failing) {
        const reason = error instanceof Error ? error.message : String(error);
        log.warn('history.not-written', { command_id: commandId, reason });
      }
      this.#failing = true;
      this.#writeIn(limits.retryMs);
      return false;
    }
  }

  async #writeBatch(write: (bytes: Buffer) => Promise<void>): Promise<void> {
    let lines = 0;
    let length = 0;
    for (const line of this.#waiting) {
      if (lines > 0 && length + line.length > BATCH_BYTES) break;
      lines += 1;
      length += line.length;
    }
    const bytes = Buffer.concat(this.#waiting.slice(0, lines), length);
    await write(bytes);
    this.#position += length;
    this.#waiting.splice(0, lines);
    this.#options.all.bytes -= length;
  }
}
