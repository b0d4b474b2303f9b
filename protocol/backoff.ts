/** Pauses between attempts after errors: exponential, with full jitter, so that many callers spread out. */
import { BACKOFF_MAX_MS, BACKOFF_MIN_MS } from './limits.ts';
import type { Random } from './ports.ts';

export class Backoff {
  readonly #random: Random;
  #attempt = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** The next pause in milliseconds: anything up to a bound that doubles with each call. */
  next(): number {
    const bound = Math.min(BACKOFF_MAX_MS, BACKOFF_MIN_MS * 2 ** this.#attempt);
    this.#attempt = Math.min(this.#attempt + 1, 16);
    return Math.ceil(this.#random.next() * bound);
  }

  /** Something worked: the next pause is short again. */
  reset(): void {
    this.#attempt = 0;
  }
}
