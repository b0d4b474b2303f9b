/**
 * What a desktop costs while nothing goes wrong with counting: requests, bytes, what is held open, wake-ups.
 *
 * Owns the sums, over the time in which it is switched on. Bytes are those of HTTP/1.1 and WebSocket messages; what TCP
 * and TLS add is left out.
 */
import type { Clock } from '../../protocol/ports.ts';

/** Activity after less quiet than this belongs to the wake-up before. */
const WAKE_GAP_MS = 100;

export interface Price {
  readonly hours: number;
  /** Calls of the desktop, over whatever transport. */
  readonly requests_per_hour: number;
  /** Both directions. */
  readonly bytes_per_hour: number;
  /** Requests without an answer yet and WebSockets: the mean over time, and the most at once. */
  readonly held_mean: number;
  readonly held_most: number;
  /** How often the desktop's machine is stirred from quiet, its Graphs left out. */
  readonly wakeups_per_hour: number;
}

export class Meter {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #isOn = false;
  #since = 0;
  #onMs = 0;
  #requests = 0;
  #bytes = 0;
  #held = 0;
  #heldSince = 0;
  #heldMs = 0;
  #heldMost = 0;
  #wakeups = 0;
  #lastActiveAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  on(): void {
    if (this.#isOn) return;
    this.#isOn = true;
    this.#since = this.#heldSince = this.#clock.monotonic();
    this.#heldMost = Math.max(this.#heldMost, this.#held);
  }

  off(): void {
    if (!this.#isOn) return;
    this.#sumHeld();
    this.#onMs += this.#clock.monotonic() - this.#since;
    this.#isOn = false;
  }

  request(): void {
    if (this.#isOn) this.#requests++;
  }

  bytes(count: number): void {
    if (this.#isOn) this.#bytes += count;
  }

  /** Something is held open. Returns how to say that it no longer is. */
  hold(): () => void {
    this.#changeHeld(1);
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#changeHeld(-1);
    };
  }

  active(): void {
    const now = this.#clock.monotonic();
    if (this.#isOn && now - this.#lastActiveAt > WAKE_GAP_MS) this.#wakeups++;
    this.#lastActiveAt = now;
  }

  /** While it was on. */
  get counted(): { readonly requests: number; readonly bytes: number } {
    return { requests: this.#requests, bytes: this.#bytes };
  }

  price(): Price {
    const hours = this.#onMs / 3_600_000;
    const perHour = (count: number) => (hours === 0 ? 0 : round(count / hours, 1));
    return {
      hours: round(hours, 4),
      requests_per_hour: perHour(this.#requests),
      bytes_per_hour: Math.round(perHour(this.#bytes)),
      held_mean: this.#onMs === 0 ? 0 : round(this.#heldMs / this.#onMs, 3),
      held_most: this.#heldMost,
      wakeups_per_hour: perHour(this.#wakeups),
    };
  }

  #changeHeld(by: 1 | -1): void {
    if (this.#isOn) this.#sumHeld();
    this.#held += by;
    if (this.#isOn) this.#heldMost = Math.max(this.#heldMost, this.#held);
  }

  #sumHeld(): void {
    const now = this.#clock.monotonic();
    this.#heldMs += this.#held * (now - this.#heldSince);
    this.#heldSince = now;
  }
}

function round(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}
