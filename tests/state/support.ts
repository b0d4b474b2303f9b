/**
 * What the tests of the state share: a clock that is moved by hand, a log that is kept, seeded chance, the tables.
 */
import type { Clock, Log, LogFields, StateStore, StoreChange, Timer } from '../../protocol/ports.ts';

export interface TestTables extends Record<string, object> {
  items: { readonly value: unknown };
  others: { readonly value: unknown };
}
export const TABLES = ['items', 'others'] as const;
export type TestStore = StateStore<TestTables>;
export type TestChange = StoreChange<TestTables>;

export function put(id: string, value: unknown): TestChange {
  return { table: 'items', id, row: { value } };
}

/** The values of the table `items`, in its order. */
export function items(store: TestStore): [string, unknown][] {
  return [...store.rows('items')].map(([id, row]) => [id, row.value]);
}

export class ManualClock implements Clock {
  #now = Date.UTC(2026, 0, 1);
  #timers: { at: number; run: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(delayMs: number, run: () => void): Timer {
    const timer = { at: this.#now + delayMs, run };
    this.#timers.push(timer);
    return { cancel: () => this.#drop(timer) };
  }

  get armed(): number {
    return this.#timers.length;
  }

  advance(ms: number): void {
    this.#now += ms;
    for (const timer of this.#timers.filter(({ at }) => at <= this.#now)) {
      this.#drop(timer);
      timer.run();
    }
  }

  #drop(timer: { at: number; run: () => void }): void {
    this.#timers = this.#timers.filter((other) => other !== timer);
  }
}

export interface KeptLog extends Log {
  readonly lines: { level: string; event: string; fields: LogFields }[];
  events(): string[];
}

export function keptLog(): KeptLog {
  const lines: KeptLog['lines'] = [];
  const keep =
    (level: string) =>
    (event: string, fields: LogFields = {}) => {
      lines.push({ level, event, fields });
    };
  return {
    lines,
    events: () => lines.map(({ event }) => event),
    debug: keep('debug'),
    info: keep('info'),
    warn: keep('warn'),
    error: keep('error'),
  };
}

/** Repeatable chance (mulberry32): numbers in [0, 1). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Lets everything run that needs no outside event. */
export async function settle(turns = 20): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resume) => setImmediate(resume));
}

/** Settles when the condition holds; turns of the event loop, no time. */
export async function until(condition: () => boolean): Promise<void> {
  for (let turn = 0; turn < 100_000; turn += 1) {
    if (condition()) return;
    await new Promise((resume) => setImmediate(resume));
  }
  throw new Error('The condition never held.');
}

/** `settled` tells at any time whether the promise has come to an end, and how. */
export function watch(promise: Promise<unknown>): { settled: 'pending' | 'resolved' | 'rejected' } {
  const watched: { settled: 'pending' | 'resolved' | 'rejected' } = { settled: 'pending' };
  promise.then(
    () => {
      watched.settled = 'resolved';
    },
    () => {
      watched.settled = 'rejected';
    },
  );
  return watched;
}
