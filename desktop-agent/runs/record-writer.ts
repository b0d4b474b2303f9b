/**
 * Writes the lines of one record, behind the run's back.
 *
 * Owns what waits to be written. Nobody waits for it, and it never throws: a disk that is slow or full costs lines, which
 * are counted, and one line of the log. What was handed over in part is written again at the same place, so a record
 * has no torn line but the last one, after a kill. A disk that stays full gets the last line in place of others: a record
 * without its end would say that the run was interrupted.
 */
import type { Clock, Log, Timer } from '../../protocol/ports.ts';
import type { HistoryLimits } from './history-limits.ts';
import type { OpenRecord, RecordFiles, RecordName } from './record-files.ts';

/** Small lines are written together, up to about this much. */
const BATCH_BYTES = 64 * 1024;

/** The last line may say of more lines that they are lost once it has taken their place. */
const SPARE_BYTES = 64;

/** Makes the last line when it is written. `squeezed`: it stands where the lines before it would be. */
export type LastLine = (lost: { readonly lines: number; readonly squeezed: boolean }) => string;

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
  #last: LastLine | null = null;
  #position = 0;
  /** Where the lines that are written end. */
  readonly #lineEnds: number[] = [];
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

  /** Whether all is on the disk, as far as the system says. */
  get isWritten(): boolean {
    return this.#waiting.length === 0 && this.#last === null;
  }

  /** False when the line is lost. */
  append(line: string): boolean {
    const { limits, all } = this.#options;
    const bytes = Buffer.from(`${line}\n`);
    if (all.bytes > 0 && all.bytes + bytes.length > limits.waitingBytes) {
      this.#lost += 1;
      return false;
    }
    this.#waiting.push(bytes);
    all.bytes += bytes.length;
    if (!this.#failing) this.#writeIn(limits.flushMs);
    return true;
  }

  /** The short line without which the rest means nothing. Nothing comes after it. */
  appendLast(line: LastLine): void {
    this.#last = line;
    if (!this.#failing) this.#writeIn(this.#options.limits.flushMs);
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

  /** Writes what waits, or else the last line at least. Nothing is tried again. */
  async end(): Promise<void> {
    if (!(await this.flush()) && this.#last !== null) await this.#squeeze(this.#last).catch(() => {});
    this.close();
  }

  /** Gives up what could not be written. */
  close(): void {
    this.#timer?.cancel();
    this.#giveUpWaiting();
    this.#last = null;
  }

  #giveUpWaiting(): void {
    this.#options.all.bytes -= this.#waiting.reduce((sum, line) => sum + line.length, 0);
    this.#lost += this.#waiting.length;
    this.#waiting.length = 0;
  }

  #writeIn(delayMs: number): void {
    this.#timer ??= this.#options.clock.after(delayMs, () => void this.flush());
  }

  async #write(): Promise<boolean> {
    const { files, name, commandId, log, limits } = this.#options;
    try {
      if (!this.isWritten) {
        const file = await files.open(name, this.#isThere ? 'extend' : 'new');
        this.#isThere = true;
        try {
          await this.#writeAll(file);
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

  async #writeAll(file: OpenRecord): Promise<void> {
    while (this.#waiting.length > 0) await this.#writeBatch(file);
    if (this.#last === null) return;
    const bytes = Buffer.from(`${this.#last({ lines: this.#lost, squeezed: false })}\n`);
    await file.write(bytes, this.#position);
    this.#last = null;
  }

  async #writeBatch(file: OpenRecord): Promise<void> {
    let lines = 0;
    let length = 0;
    for (const line of this.#waiting) {
      if (lines > 0 && length + line.length > BATCH_BYTES) break;
      lines += 1;
      length += line.length;
    }
    const batch = this.#waiting.slice(0, lines);
    await file.write(Buffer.concat(batch, length), this.#position);
    for (const line of batch) {
      this.#position += line.length;
      this.#lineEnds.push(this.#position);
    }
    this.#waiting.splice(0, lines);
    this.#options.all.bytes -= length;
  }

  /** Over lines that are there: a full disk has no other place. */
  async #squeeze(last: LastLine): Promise<void> {
    const { files, name } = this.#options;
    this.#giveUpWaiting();
    const lineAt = (lines: number) => Buffer.from(`${last({ lines, squeezed: true })}\n`);
    const room = lineAt(this.#lost).length + SPARE_BYTES;
    const kept = this.#lineEnds.findLastIndex((end) => end + room <= this.#position);
    const at = this.#lineEnds[kept];
    if (at === undefined) return;
    const bytes = lineAt(this.#lost + this.#lineEnds.length - kept - 1);
    const file = await files.open(name, 'extend');
    try {
      await file.write(bytes, at);
      await file.truncate(at + bytes.length);
    } finally {
      await file.close();
    }
  }
}
