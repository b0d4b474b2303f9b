/**
 * The waits of `retry`: a Graph has no timers of its own.
 *
 * Owns the waits of one run, on the host's clock. What is tried again, and how long each wait is, the Graph's side says;
 * bounds were checked at the border.
 */
import type { Clock, Timer } from '../../protocol/ports.ts';
import type { Caller, Emit } from './caller.ts';

export interface RetryWait {
  /** In its Graph. */
  readonly id: number;
  /** The attempt that has failed. */
  readonly attempt: number;
  readonly attempts: number;
  readonly waitMs: number;
  readonly error: string;
}

export interface RetryWaitsOptions {
  readonly clock: Clock;
  readonly emit: Emit;
  /** A wait has begun or is over. */
  readonly onChange: () => void;
}

export class RetryWaits {
  readonly #options: RetryWaitsOptions;
  readonly #waits = new Map<Timer, Caller>();

  constructor(options: RetryWaitsOptions) {
    this.#options = options;
  }

  get open(): number {
    return this.#waits.size;
  }

  request({ id, attempt, attempts, waitMs, error }: RetryWait, caller: Caller): void {
    const { clock, emit, onChange } = this.#options;
    const limit = caller.allowance.take('retries');
    if (limit !== null) {
      const text = `a run can wait for ${limit} retries and no more`;
      caller.answer({ id, text, error: { name: 'RetryLimitExceeded', final: true } });
      return;
    }
    const timer = clock.after(waitMs, () => {
      this.#waits.delete(timer);
      caller.answer({ id, text: '', error: null });
      onChange();
    });
    this.#waits.set(timer, caller);
    onChange();
    emit({ type: 'retry_waits', attempt, attempts, wait_ms: waitMs, error }, caller);
  }

  /** Ends the waits of this Graph without an answer. */
  close(caller: Caller): void {
    for (const [timer, waiting] of this.#waits) {
      if (waiting !== caller) continue;
      timer.cancel();
      this.#waits.delete(timer);
    }
    this.#options.onChange();
  }
}
