/**
 * Group commit: all batches that arrive while a write is on its way go out with the next single write.
 *
 * Owns the order of batches, who waits for which write, and what happens when the disk refuses. A caller waits for the
 * write that holds its batch and for nothing behind it; an error goes to the callers of the write that failed, and the
 * batches stay, first in line, until a later write takes them. Must not know what a batch means or where it goes.
 */
import { RelayError } from '../../errors.ts';
import type { Clock, Log, StoreStatus, Timer } from '../../ports.ts';
import { errorText } from './disk.ts';

export interface BatchSink {
  /**
   * Resolves when these batches, numbered from `first` on, are durable together. When it rejects, none of them
   * counts, and the next call gets them again under the same numbers.
   */
  write(batches: readonly string[], first: number): Promise<void>;
}

export interface GroupCommitOptions {
  readonly sink: BatchSink;
  /** Number of the last batch that is durable already. */
  readonly durable: number;
  /** Where the state is, for messages. */
  readonly place: string;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
  /** Called after each write that worked. */
  readonly onDurable?: () => void;
}

/** Longer: a disk that has room again is noticed later. Shorter: more futile writes and nothing gained. */
const RETRY_MS = 1_000;

/** One write holds about this much at most, so that what piled up before a full disk never makes one giant line. */
const WRITE_CHARS = 16 * 1024 * 1024;

const DURABLE = Promise.resolve();

/** A place between two writes, and what is to be done there. */
interface Cut {
  /** Called in the turn in which the last write before the cut takes its batches; `through` is the last of them. */
  readonly asOf: (through: number) => void;
  /** Called when that write is durable, before the next one begins. */
  readonly done: () => void;
  readonly abandon: (error: RelayError) => void;
}

export class GroupCommit {
  readonly #options: GroupCommitOptions;
  /** Batches that no write has taken, or that a failed one gave back. */
  #waiting: string[] = [];
  /** Callers of the next write. One promise for all of them: they share its fate. */
  #callers: PromiseWithResolvers<void> | null = null;
  #flying: PromiseWithResolvers<void> | null = null;
  #durable: number;
  #running = false;
  #abandoned = false;
  #refusal: string | null = null;
  #retry: Timer | null = null;
  #cut: Cut | null = null;
  readonly #run = (): void => void this.#flush();

  constructor(options: GroupCommitOptions) {
    this.#options = options;
    this.#durable = options.durable;
  }

  /** Number of the last durable batch. */
  get durable(): number {
    return this.#durable;
  }

  add(batch: string): Promise<void> {
    this.#waiting.push(batch);
    return this.#joinNext();
  }

  synced(): Promise<void> {
    if (this.#waiting.length > 0) return this.#joinNext();
    return this.#flying?.promise ?? DURABLE;
  }

  status(): StoreStatus {
    return { writable: this.#refusal === null, reason: this.#refusal };
  }

  /**
   * Cuts the stream of batches in two: `asOf` sees memory with exactly the batches before the cut, `switchOver` runs
   * when those are durable and before any other is written. Resolves with what `asOf` returned. A write that fails
   * puts the cut off until one works.
   */
  cut<T>(asOf: (through: number) => T, switchOver: () => void): Promise<T> {
    if (this.#abandoned) return Promise.reject(this.#endedError());
    return new Promise((resolve, reject) => {
      let seen: T;
      this.#cut = {
        asOf: (through) => {
          seen = asOf(through);
        },
        done: () => {
          switchOver();
          resolve(seen);
        },
        abandon: reject,
      };
      this.#start();
    });
  }

  /** Writes nothing more: what is pending stays unwritten, and its callers hear nothing more. */
  abandon(): void {
    this.#abandoned = true;
    this.#retry?.cancel();
    this.#retry = null;
    this.#cut?.abandon(this.#endedError());
    this.#cut = null;
  }

  #joinNext(): Promise<void> {
    if (this.#abandoned) return Promise.reject(this.#endedError());
    this.#callers ??= newCallers();
    this.#start();
    return this.#callers.promise;
  }

  #start(): void {
    if (this.#running || this.#abandoned) return;
    this.#running = true;
    // A microtask, so that batches of the same turn share a write. Anything later would be latency for nothing.
    queueMicrotask(this.#run);
  }

  async #flush(): Promise<void> {
    do {
      // The turn between two writes lets callers that have just been told join the next one.
      await this.#writeOnce();
    } while (this.#hasWork());
    this.#running = false;
  }

  /** Refused batches alone are no reason to go on at once: they wait for a caller or for the timer. */
  #hasWork(): boolean {
    if (this.#abandoned) return false;
    return this.#callers !== null || (this.#cut !== null && this.#refusal === null);
  }

  async #writeOnce(): Promise<void> {
    const batches = this.#waiting;
    const callers = this.#callers ?? newCallers();
    const cut = this.#cut;
    this.#waiting = [];
    this.#callers = null;
    this.#flying = callers;
    cut?.asOf(this.#durable + batches.length);
    try {
      await this.#write(batches);
    } catch (error) {
      this.#flying = null;
      this.#refused(error);
      callers.reject(this.#refusedError(errorText(error), error));
      return;
    }
    this.#flying = null;
    this.#healed();
    if (cut !== null && cut === this.#cut) {
      this.#cut = null;
      cut.done();
    }
    callers.resolve();
    this.#options.onDurable?.();
  }

  /** Writes all of these, or puts what is not written back in front of what came since. */
  async #write(batches: readonly string[]): Promise<void> {
    let written = 0;
    try {
      while (written < batches.length) {
        const end = endOfWrite(batches, written);
        await this.#options.sink.write(batches.slice(written, end), this.#durable + 1);
        this.#durable += end - written;
        written = end;
      }
    } catch (error) {
      this.#waiting = batches.slice(written).concat(this.#waiting);
      throw error;
    }
  }

  #refused(error: unknown): void {
    const { log, place, clock } = this.#options;
    if (this.#refusal === null) log.warn('state.write-refused', { place, reason: errorText(error) });
    this.#refusal = `The disk refuses writes to ${place} (${errorText(error)}). Changes are kept and tried again.`;
    if (this.#abandoned) return;
    this.#retry ??= clock.after(RETRY_MS, () => {
      this.#retry = null;
      this.#start();
    });
  }

  #healed(): void {
    if (this.#refusal === null) return;
    this.#refusal = null;
    this.#retry?.cancel();
    this.#retry = null;
    this.#options.log.info('state.write-healed', { place: this.#options.place });
  }

  #refusedError(why: string, cause: unknown): RelayError {
    const message = `The change could not be stored in ${this.#options.place} (${why}). It is kept and tried again.`;
    return new RelayError('store-unavailable', message, { cause });
  }

  #endedError(): RelayError {
    return new RelayError('store-unavailable', `The state in ${this.#options.place} is closed.`);
  }
}

function endOfWrite(batches: readonly string[], from: number): number {
  let chars = 0;
  let end = from;
  while (end < batches.length && (end === from || chars + batches[end]!.length <= WRITE_CHARS)) {
    chars += batches[end]!.length;
    end += 1;
  }
  return end;
}

function newCallers(): PromiseWithResolvers<void> {
  const callers = Promise.withResolvers<void>();
  // A caller that does not look is no reason to end the process: the refusal is in the log and in the status.
  callers.promise.catch(() => {});
  return callers;
}
