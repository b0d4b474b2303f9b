/**
 * Virtual time: a clock that moves only when nothing else can happen.
 *
 * Owns the order of events. Between two events the real event loop is given its turn, so that everything an event set
 * in motion (promises, streams) has settled before the next one. A trace hash tells whether two runs were equal.
 */
import { createHash } from 'node:crypto';
import type { Clock, Timer } from '../../protocol/ports.ts';

interface Event {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
  cancelled: boolean;
}

/** Where virtual wall time begins; any fixed instant does. */
const EPOCH_MS = Date.UTC(2026, 0, 1);

/** What an event sets in motion: promises alone, or streams and bodies of `fetch` too, which take more turns. */
export type Settling = 'promises' | 'streams';

/**
 * A timer that is set for later is later. Less than this is lost in the sum of instants, and whoever comes a trifle too
 * early would come again and again in the same instant.
 */
const SHORTEST_MS = 1e-6;
/** Events of one instant. With more, something goes round and time stands still. */
const MOST_AT_ONCE = 100_000;

/** Turns of the event loop between two events of a world with streams. */
const STREAM_TURNS = 3;
/**
 * Immediates that are queued at once when promises are all there is: the runtime drains promises between two of them,
 * and asks the operating system for news only after the last. That is six times as quick as a turn for each event.
 */
const BATCH = 64;
/** Instants of the trace that are hashed in one go. Hashing each by itself costs more than what it describes. */
const TRACE_CHUNK = 1_024;

/** How long a timer takes that was set for so long. */
export function timerMs(delayMs: number): number {
  return delayMs > 0 ? Math.max(SHORTEST_MS, delayMs) : 0;
}

export class VirtualClock implements Clock {
  readonly #heap: Event[] = [];
  readonly #turnsPerEvent: number;
  readonly #trace = createHash('sha256');
  #lines: string[] = [];
  /** Lines of the instant {@link #tracedAt}. */
  #instant: string[] = [];
  #tracedAt = 0;
  #elapsed = 0;
  #order = 0;
  #events = 0;
  /** Events so far in the instant that is now. */
  #atOnce = 0;
  /** Added to wall time only: a step of the wall clock moves no timer. */
  #wallOffset = 0;

  constructor(settling: Settling = 'streams') {
    this.#turnsPerEvent = settling === 'streams' ? STREAM_TURNS : 1;
  }

  now(): number {
    return EPOCH_MS + Math.floor(this.#elapsed) + this.#wallOffset;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  after(delayMs: number, run: () => void): Timer {
    const event: Event = {
      at: this.#elapsed + timerMs(delayMs),
      order: this.#order++,
      run,
      cancelled: false,
    };
    this.#push(event);
    return {
      cancel: () => {
        event.cancelled = true;
      },
    };
  }

  /** Moves the wall clock, as a time service or a person does. Timers and `monotonic` do not notice. */
  stepWall(byMs: number): void {
    this.#wallOffset += byMs;
  }

  /** Events that have run so far. */
  get events(): number {
    return this.#events;
  }

  /** Adds a line to the trace. Lines of one instant have no order among themselves: that is chance, not behaviour. */
  trace(line: string): void {
    if (this.#elapsed !== this.#tracedAt) this.#endInstant();
    this.#instant.push(line);
  }

  /** Equal for two runs with equal traces. */
  traceHash(): string {
    this.#endInstant();
    this.#hashLines();
    return this.#trace.copy().digest('hex');
  }

  /** Runs all events up to `ms` from now, then stands exactly there. */
  async advance(ms: number): Promise<void> {
    await this.#runUntil(this.#elapsed + ms, () => false);
  }

  /** Runs events until the promise has settled. Throws when nothing is left that could settle it. */
  async settle<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const mark = () => {
      settled = true;
    };
    promise.then(mark, mark);
    await this.#runUntil(Number.POSITIVE_INFINITY, () => settled);
    if (!settled)
      throw new Error(`deadlock at ${this.#elapsed} ms: no event is left, and the promise is still pending`);
    return promise;
  }

  async #runUntil(until: number, done: () => boolean): Promise<void> {
    await this.#drive(() => !done() && this.#runNext(until));
    if (Number.isFinite(until) && !done()) this.#elapsed = until;
  }

  /** Calls `step` once what the step before set in motion has settled, until it returns false. */
  #drive(step: () => boolean): Promise<void> {
    const turns = this.#turnsPerEvent;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let over = false;
    let turn = 0;
    let queued = 0;
    const onTurn = () => {
      queued--;
      if (over) return;
      turn++;
      try {
        if (turn % turns === 0) over = !step();
        if (over) resolve();
        else if (queued === 0) queue();
      } catch (error) {
        over = true;
        reject(error);
      }
    };
    const queue = () => {
      queued = turns === 1 ? BATCH : 1;
      for (let index = queued; index > 0; index--) setImmediate(onTurn);
    };
    queue();
    return promise;
  }

  /** Runs the next event. False when there is none up to `until`. */
  #runNext(until: number): boolean {
    for (let next = this.#heap[0]; next !== undefined && next.at <= until; next = this.#heap[0]) {
      this.#pop();
      if (next.cancelled) continue;
      this.#atOnce = next.at > this.#elapsed ? 0 : this.#atOnce + 1;
      if (this.#atOnce > MOST_AT_ONCE)
        throw new Error(`time stands still at ${next.at} ms: there is always one more event`);
      this.#elapsed = next.at;
      this.#events++;
      next.run();
      return true;
    }
    return false;
  }

  #endInstant(): void {
    if (this.#instant.length > 0) {
      this.#lines.push(`${this.#tracedAt.toFixed(3)}\n${this.#instant.sort().join('\n')}\n`);
      this.#instant = [];
      if (this.#lines.length >= TRACE_CHUNK) this.#hashLines();
    }
    this.#tracedAt = this.#elapsed;
  }

  #hashLines(): void {
    this.#trace.update(this.#lines.join(''));
    this.#lines = [];
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let index = heap.push(event) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!before(event, heap[parent]!)) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++;
      if (!before(heap[child]!, last)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = last;
  }
}

function before(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
