/** A clock that the test moves. */
import { systemClock } from '../../protocol/host/system-ports.ts';
import type { Clock, Timer } from '../../protocol/ports.ts';

/** Time that stands still unless the test moves it, so that no limit depends on how busy the machine is. */
export class MovedClock implements Clock {
  skewMs = 0;
  readonly #now = systemClock.now();
  now = (): number => this.#now + this.skewMs;
  monotonic = (): number => this.skewMs;
  readonly #timers: Timer[] = [];
  after: Clock['after'] = (delayMs, run) => {
    const timer = systemClock.after(delayMs, run);
    this.#timers.push(timer);
    return timer;
  };
  /** Killed relays are never drained; their timers end with the test. */
  stop(): void {
    for (const timer of this.#timers) timer.cancel();
  }
}
