/**
 * The wall time of a run: a clock that can stand still.
 *
 * Owns the deadlines of the run's Graphs and how much of each is left. Who stops it, and when, is decided elsewhere.
 */
import type { Clock, Timer } from '../../protocol/ports.ts';

interface Deadline {
  readonly run: () => void;
  leftMs: number;
  /** When it was armed, on the monotonic clock. */
  armedAt: number;
  timer: Timer | null;
}

export class WallTime {
  readonly #clock: Clock;
  readonly #deadlines = new Set<Deadline>();
  #standing = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  after(delayMs: number, run: () => void): Timer {
    const deadline: Deadline = { run, leftMs: delayMs, armedAt: 0, timer: null };
    this.#deadlines.add(deadline);
    if (!this.#standing) this.#arm(deadline);
    return {
      cancel: () => {
        deadline.timer?.cancel();
        this.#deadlines.delete(deadline);
      },
    };
  }

  /** Stops the time, or lets it go on. Saying it twice changes nothing. */
  stand(still: boolean): void {
    if (still === this.#standing) return;
    this.#standing = still;
    for (const deadline of this.#deadlines) {
      if (still) this.#disarm(deadline);
      else this.#arm(deadline);
    }
  }

  #arm(deadline: Deadline): void {
    deadline.armedAt = this.#clock.monotonic();
    deadline.timer = this.#clock.after(deadline.leftMs, () => {
      this.#deadlines.delete(deadline);
      deadline.run();
    });
  }

  #disarm(deadline: Deadline): void {
    deadline.timer?.cancel();
    deadline.timer = null;
    deadline.leftMs = Math.max(0, deadline.leftMs - (this.#clock.monotonic() - deadline.armedAt));
  }
}
