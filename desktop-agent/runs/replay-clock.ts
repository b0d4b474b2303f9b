/**
 * A clock on which waits can be skipped: what a `retry` waits for need not be waited for again.
 *
 * Owns the time of one replay. It runs like the real one, and jumps to the end of a wait when it is told to.
 */
import type { Clock, Timer } from '../../protocol/ports.ts';

interface Armed {
  readonly due: number;
  readonly delayMs: number;
  readonly run: () => void;
  timer: Timer;
}

export class ReplayClock implements Clock {
  readonly #clock: Clock;
  /** The latest last. */
  readonly #armed = new Set<Armed>();
  readonly #waits = new Set<Armed>();
  #skippedMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): number {
    return this.#clock.now() + this.#skippedMs;
  }

  monotonic(): number {
    return this.#clock.monotonic() + this.#skippedMs;
  }

  after(delayMs: number, run: () => void): Timer {
    const fire = () => {
      this.#forget(armed);
      run();
    };
    const armed: Armed = {
      due: this.monotonic() + delayMs,
      delayMs,
      run: fire,
      timer: this.#clock.after(delayMs, fire),
    };
    this.#armed.add(armed);
    return { cancel: () => this.#forget(armed) };
  }

  /** The timer of this length that was armed last is a wait that need not be waited for. */
  isWait(delayMs: number): void {
    const wait = [...this.#armed].findLast((armed) => armed.delayMs === delayMs && !this.#waits.has(armed));
    if (wait !== undefined) this.#waits.add(wait);
  }

  /** The earliest wait is over now, and so is all that would have been over before it. */
  skipWait(): void {
    const wait = earliest(this.#waits);
    while (wait !== null && this.#armed.has(wait)) {
      const next = earliest(this.#armed) ?? wait;
      this.#skippedMs += Math.max(0, next.due - this.monotonic());
      next.timer.cancel();
      next.run();
    }
    for (const armed of this.#armed) {
      armed.timer.cancel();
      armed.timer = this.#clock.after(armed.due - this.monotonic(), armed.run);
    }
  }

  #forget(armed: Armed): void {
    armed.timer.cancel();
    this.#armed.delete(armed);
    this.#waits.delete(armed);
  }
}

function earliest(timers: ReadonlySet<Armed>): Armed | null {
  return [...timers].sort((a, b) => a.due - b.due)[0] ?? null;
}
