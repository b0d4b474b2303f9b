/**
 * How long somebody may say nothing: a signal that is aborted when the time is over, or when nobody waits any more.
 *
 * Owns the time, on the Clock port.
 */
import type { Clock, Timer } from '../../protocol/ports.ts';

export interface SilenceOptions {
  /** Longest time without news. */
  readonly silentMs: number;
  /** Longest time in all. */
  readonly maxMs: number;
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
}

export class Silence {
  /** Aborted at the first of both. */
  readonly signal: AbortSignal;
  /** The time that was over; `silentMs` until then. */
  limitMs: number;
  readonly #clock: Clock;
  readonly #options: SilenceOptions;
  readonly #over = new AbortController();
  readonly #startedAt: number;
  #timer: Timer;

  constructor(clock: Clock, options: SilenceOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#startedAt = clock.monotonic();
    this.limitMs = options.silentMs;
    this.signal = AbortSignal.any([options.signal, this.#over.signal]);
    this.#timer = this.#arm();
  }

  /** Whether the time was over before anybody gave up. */
  get isOver(): boolean {
    return this.#over.signal.aborted;
  }

  /** Why nobody waits any more, as whoever gave up said. */
  get reason(): Error {
    const { reason } = this.#options.signal;
    return reason instanceof Error ? reason : new Error(String(reason));
  }

  /** There is news: the time without begins anew. */
  broken(): void {
    this.#timer.cancel();
    this.#timer = this.#arm();
  }

  end(): void {
    this.#timer.cancel();
  }

  #arm(): Timer {
    const { silentMs, maxMs, signal } = this.#options;
    const leftMs = maxMs - (this.#clock.monotonic() - this.#startedAt);
    return this.#clock.after(Math.min(silentMs, leftMs), () => {
      if (signal.aborted) return;
      this.limitMs = leftMs < silentMs ? maxMs : silentMs;
      this.#over.abort();
    });
  }
}
