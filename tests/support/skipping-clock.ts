/**
 * The real clock, with hours that a test may skip.
 *
 * Owns the timers that were armed with it: those whose time was skipped fire. For real sockets under a limit that is
 * too long to wait for; where no real socket is needed, virtual time is better.
 */
import { systemClock } from '../../protocol/host/system-ports.ts';
import type { Clock, Timer } from '../../protocol/ports.ts';

export class SkippingClock implements Clock {
  readonly #armed = new Set<{ readonly at: number; real: Timer; readonly run: () => void }>();
  #skipped = 0;

  now(): number {
    return systemClock.now() + this.#skipped;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#skipped;
  }

  after(delayMs: number, run: () => void): Timer {
    const timer = { at: this.monotonic() + delayMs, real: { cancel() {} } as Timer, run };
    this.#armed.add(timer);
    this.#arm(timer, delayMs);
    return {
      cancel: () => {
        timer.real.cancel();
        this.#armed.delete(timer);
      },
    };
  }

  /** Nobody ran meanwhile, as on a machine that slept: what is due fires now. */
  skip(ms: number): void {
    this.#skipped += ms;
    for (const timer of [...this.#armed]) {
      timer.real.cancel();
      this.#arm(timer, timer.at - this.monotonic());
    }
  }

  #arm(timer: { real: Timer; readonly run: () => void; readonly at: number }, delayMs: number): void {
    timer.real = systemClock.after(delayMs, () => {
      this.#armed.delete(timer);
      timer.run();
    });
  }
}
