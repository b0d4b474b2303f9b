/**
 * How many requests of one caller are held at once.
 *
 * Owns the count, by caller, and the end of all of them together. What a hold waits for is up to whoever made it; what
 * happens to one request too many, too.
 */
import { getOrMake } from '../protocol/collections.ts';
import type { Hold } from './holds.ts';

export class HeldRequests {
  readonly #limit: number;
  readonly #held = new Map<string, Set<Hold<unknown>>>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  hasRoomFor(caller: string): boolean {
    const holds = this.#held.get(caller);
    if (holds === undefined || holds.size < this.#limit) return true;
    // One that has just ended is still in the set: it is removed when its promise has settled.
    return [...holds].filter(({ open }) => open).length < this.#limit;
  }

  /** Counts the hold until it ends, and resolves with its answer. */
  async answerOf<Answer>(caller: string, hold: Hold<Answer>): Promise<Answer> {
    const holds = getOrMake(this.#held, caller, () => new Set<Hold<unknown>>());
    holds.add(hold as Hold<unknown>);
    try {
      return await hold.answer;
    } finally {
      holds.delete(hold as Hold<unknown>);
      if (holds.size === 0 && this.#held.get(caller) === holds) this.#held.delete(caller);
    }
  }

  releaseAll(): void {
    for (const hold of this.#all()) hold.release();
  }

  failOf(caller: string, error: Error): void {
    for (const hold of this.#held.get(caller) ?? []) hold.fail(error);
  }

  failAll(error: Error): void {
    for (const hold of this.#all()) hold.fail(error);
  }

  #all(): Hold<unknown>[] {
    return [...this.#held.values()].flatMap((holds) => [...holds]);
  }
}
