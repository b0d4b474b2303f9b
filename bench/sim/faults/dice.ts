/** Drawing from a stream of chance, in words. */
import type { Random } from '../../../protocol/ports.ts';

export class Dice {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.#random.next() < probability;
  }

  /** A number from `low` up to, not with, `high`. */
  between(low: number, high: number): number {
    return low + this.#random.next() * (high - low);
  }

  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.#random.next() * (high - low + 1));
  }

  /** Spread evenly over orders of magnitude: as often between 1 and 10 as between 10 and 100. */
  magnitude(low: number, high: number): number {
    return low * (high / low) ** this.#random.next();
  }

  pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random.next() * values.length)]!;
  }
}
