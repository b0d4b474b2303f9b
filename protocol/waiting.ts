/** Waiting on the Clock port: pauses that can be ended, and signals that combine. */
import type { Clock } from './ports.ts';

/** Resolves after `delayMs`, or as soon as the signal is aborted. Never rejects. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const done = () => {
      timer.cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = clock.after(delayMs, done);
    signal.addEventListener('abort', done, { once: true });
  });
}

/**
 * Measures from now, in milliseconds: by the clock that saw more. A machine that slept may have stopped the monotonic one,
 * and somebody may have set the wall clock back.
 */
export function stopwatch(clock: Clock): () => number {
  const [now, monotonic] = [clock.now(), clock.monotonic()];
  return () => Math.max(clock.now() - now, clock.monotonic() - monotonic);
}

/** A signal that is aborted `delayMs` after the other one. `release` when nobody needs it any more. */
export function abortedLater(
  clock: Clock,
  signal: AbortSignal,
  delayMs: number,
): { signal: AbortSignal; release: () => void } {
  const later = new AbortController();
  const released = new AbortController();
  const begin = () => void pause(clock, delayMs, released.signal).then(() => later.abort());
  if (signal.aborted) begin();
  else signal.addEventListener('abort', begin, { once: true, signal: released.signal });
  return { signal: later.signal, release: () => released.abort() };
}

/**
 * A pause that somebody can end. A wake that comes while nobody pauses is kept for the next pause, so it cannot fall
 * between looking and waiting.
 */
export class Wakeable {
  readonly #clock: Clock;
  #woken = false;
  #end: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(): void {
    this.#woken = true;
    this.#end?.();
  }

  async pause(delayMs: number): Promise<void> {
    if (!this.#woken && delayMs > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = this.#clock.after(delayMs, resolve);
      this.#end = resolve;
      await promise;
      this.#end = null;
      timer.cancel();
    }
    this.#woken = false;
  }
}
