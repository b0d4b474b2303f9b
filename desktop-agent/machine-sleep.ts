/**
 * Whether this machine is about to sleep: from the word that it will until it is awake again.
 *
 * Owns that word and its end, and the pause of the loop between them. Who says it, and whom it is passed on to, is up to
 * others.
 */
import type { Clock } from '../protocol/ports.ts';
import { Wakeable } from '../protocol/waiting.ts';

/**
 * A machine that still runs this long after the word does not sleep: somebody kept it awake. Longer: its desktop stays
 * away for nothing. Shorter: one that takes its time (systemd lets programs delay a sleep by 5 s, hooks by more) is
 * online again when it falls asleep. Time that is slept does not count, where the monotonic clock stands still in it.
 */
export const STILL_AWAKE_MS = 60_000;

export class MachineSleep {
  readonly #clock: Clock;
  readonly #wakeable: Wakeable;
  /** On the monotonic clock; null while nobody has said so. */
  #since: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#wakeable = new Wakeable(clock);
  }

  /** Whether the word was said and not taken back. */
  get announced(): boolean {
    return this.#since !== null;
  }

  announce(): void {
    this.#since = this.#clock.monotonic();
  }

  end(): void {
    this.#since = null;
    this.#wakeable.wake();
  }

  /** Somebody who waits in {@link over} looks again. */
  nudge(): void {
    this.#wakeable.wake();
  }

  /** Resolves when the machine is awake, or when nobody wants to know any more. At once when nobody said that it sleeps. */
  async over(isOver: () => boolean): Promise<void> {
    while (this.#since !== null && !isOver()) {
      const leftMs = this.#since + STILL_AWAKE_MS - this.#clock.monotonic();
      // Sums of instants are not exact: a rest of less than this is none.
      if (leftMs < 1) this.#since = null;
      else await this.#wakeable.pause(leftMs);
    }
  }
}
