/**
 * Held requests. A hold is an object with its own identity: whoever cleans one up can never remove a newer one.
 *
 * Owns: when a hold ends, and with what. Knows nothing of commands.
 */
import { HOLD_JITTER_SHARE, HOLD_MARGIN_MS, HOLD_MAX_MS } from '../protocol/limits.ts';
import type { Clock, Random, Timer } from '../protocol/ports.ts';

/** The hold that is granted to who asked for `askedMs`: bounded, and jittered so that callers drift apart. */
export function grantHold(askedMs: number, random: Random): number {
  const granted = Math.min(askedMs, HOLD_MAX_MS);
  return Math.round(granted * (1 - HOLD_JITTER_SHARE * random.next()));
}

/** How long a granted hold is really kept: it ends before a proxy with the very same limit cuts it. */
export function keptMs(grantedMs: number): number {
  return Math.max(0, grantedMs - HOLD_MARGIN_MS);
}

export interface HoldOptions<Answer> {
  readonly clock: Clock;
  /** The hold ends by itself after this long. */
  readonly holdMs: number;
  /** Aborted when the caller has gone away; the hold then ends, and nothing can be put into it any more. */
  readonly signal: AbortSignal;
  /** The answer of a hold that ended because its time was over, its caller went away, or a newer one took its place. */
  readonly empty: () => Answer;
}

export type HoldEnd = 'answered' | 'time-over' | 'caller-gone' | 'failed';

/** One request that is kept open. Ends once, for the first reason that comes. */
export class Hold<Answer> {
  readonly answer: Promise<Answer>;
  readonly #empty: () => Answer;
  readonly #signal: AbortSignal;
  readonly #timer: Timer;
  #settle: { resolve: (answer: Answer) => void; reject: (error: unknown) => void } | null;
  #end: HoldEnd | null = null;

  constructor(options: HoldOptions<Answer>) {
    this.#empty = options.empty;
    this.#signal = options.signal;
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.answer = promise;
    this.#settle = { resolve, reject };
    this.#timer = options.clock.after(options.holdMs, () => this.#finish('time-over', this.#empty()));
    if (this.#signal.aborted) this.#onAbort();
    else this.#signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Whether an answer can still be put in. */
  get open(): boolean {
    return this.#settle !== null;
  }

  get end(): HoldEnd | null {
    return this.#end;
  }

  /** Ends the hold with this answer. False when it had ended before: then nothing was delivered. */
  answerWith(answer: Answer): boolean {
    return this.#finish('answered', answer);
  }

  /** Ends the hold with the empty answer. */
  release(): boolean {
    return this.#finish('answered', this.#empty());
  }

  fail(error: unknown): boolean {
    const settle = this.#close('failed');
    settle?.reject(error);
    return settle !== null;
  }

  #onAbort = (): void => {
    this.#finish('caller-gone', this.#empty());
  };

  #finish(end: HoldEnd, answer: Answer): boolean {
    const settle = this.#close(end);
    settle?.resolve(answer);
    return settle !== null;
  }

  #close(end: HoldEnd) {
    const settle = this.#settle;
    if (settle === null) return null;
    this.#settle = null;
    this.#end = end;
    this.#timer.cancel();
    this.#signal.removeEventListener('abort', this.#onAbort);
    return settle;
  }
}

/** The open holds of one kind, at most one under each key: a newer one ends the older one. */
export class HoldRegistry<Answer, H extends Hold<Answer> = Hold<Answer>> {
  readonly #holds = new Map<string, H>();

  /** Registers the hold until it ends. One that was open under this key is released. */
  put(key: string, hold: H): void {
    this.#holds.get(key)?.release();
    if (!hold.open) return;
    this.#holds.set(key, hold);
    const remove = () => {
      if (this.#holds.get(key) === hold) this.#holds.delete(key);
    };
    hold.answer.then(remove, remove);
  }

  /** The open hold under this key. */
  get(key: string): H | null {
    const hold = this.#holds.get(key);
    return hold?.open ? hold : null;
  }

  get size(): number {
    return this.#holds.size;
  }

  *open(): IterableIterator<[string, H]> {
    for (const entry of this.#holds) if (entry[1].open) yield entry;
  }
}
