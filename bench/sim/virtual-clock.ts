/**
 * Virtual time: a clock that moves only when nothing else can happen.
 *
 * Owns the order of events. Between two events one turn of the real event loop passes, so that everything an event
 * set in motion (promises, streams) has settled before the next one. A trace hash tells whether two runs were equal.
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

/** Turns of the event loop between two events. Streams and aborts of `fetch` bodies take more than one. */
const SETTLE_TURNS = 3;

export class VirtualClock implements Clock {
  readonly #heap: Event[] = [];
  readonly #trace = createHash('sha256');
  #elapsed = 0;
  #order = 0;
  #events = 0;
  /** Added to wall time only: a step of the wall clock moves no timer. */
  #wallOffset = 0;

  now(): number {
    return EPOCH_MS + Math.floor(this.#elapsed) + this.#wallOffset;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  after(delayMs: number, run: () => void): Timer {
    const event: Event = { at: this.#elapsed + Math.max(0, delayMs), order: this.#order++, run, cancelled: false };
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

  /** Adds a line to the trace, with the virtual time. */
  trace(line: string): void {
    this.#trace.update(`${this.#elapsed.toFixed(3)} ${line}\n`);
  }

  /** Equal for two runs with equal traces. */
  traceHash(): string {
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
    for (;;) {
      await turns();
      if (done()) return;
      const next = this.#heap[0];
      if (next === undefined || next.at > until) break;
      this.#pop();
      if (next.cancelled) continue;
      this.#elapsed = next.at;
      this.#events++;
      next.run();
    }
    if (Number.isFinite(until)) this.#elapsed = until;
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

async function turns(): Promise<void> {
  for (let turn = 0; turn < SETTLE_TURNS; turn++) await new Promise((resolve) => setImmediate(resolve));
}
