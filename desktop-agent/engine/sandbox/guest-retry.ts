/**
 * Code of the sandbox: `retry`, which tries again what may go well the next time.
 *
 * Sent into the interpreter as its own source text (`toString()`), before the Graph: it must not refer to anything
 * outside itself. The waits are the host's: a Graph has no timers.
 */
import type { GuestCalls } from './guest-calls.ts';
import type { GuestErrors } from './guest-errors.ts';
import type { Describe } from './guest-values.ts';

/** Tries `work(attempt)`; the wait doubles with each attempt. */
export type GuestRetry = (work: unknown, options?: unknown) => Promise<unknown>;

export interface RetrySetup {
  readonly fileName: string;
  readonly retryAttempts: number;
  readonly retryWaitMs: number;
}

export interface RetryParts {
  readonly calls: GuestCalls;
  readonly errors: GuestErrors;
  readonly describe: Describe;
  readonly setup: RetrySetup;
}

export function makeRetry({ calls, errors, describe, setup }: RetryParts): GuestRetry {
  function readOptions(options: unknown): { attempts: number; backoffMs: number } {
    const usage = 'retry(function, { attempts, backoff_ms })';
    if (typeof options !== 'object' || options === null) {
      throw errors.misuse(`${usage}: the options must be an object`);
    }
    const read: Record<string, number> = { attempts: 3, backoff_ms: 1_000 };
    const bounds: Record<string, readonly [number, number]> = {
      attempts: [1, setup.retryAttempts],
      backoff_ms: [0, setup.retryWaitMs],
    };
    for (const [key, value] of Object.entries(options)) {
      const bound = Object.hasOwn(bounds, key) ? bounds[key] : undefined;
      if (bound === undefined) throw errors.misuse(`${usage} has no option \`${key.slice(0, 50)}\``);
      if (value === undefined) continue;
      const [least, most] = bound;
      if (typeof value !== 'number' || !(value >= least && value <= most) || value % 1 !== 0) {
        throw errors.misuse(`${usage}: \`${key}\` must be a whole number from ${least} to ${most}`);
      }
      read[key] = value;
    }
    return { attempts: read.attempts ?? 1, backoffMs: read.backoff_ms ?? 0 };
  }

  async function retry(work: unknown, options: unknown = {}): Promise<unknown> {
    if (typeof work !== 'function') throw errors.misuse('retry(function, …): the first argument is not a function');
    const { attempts, backoffMs } = readOptions(options);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work(attempt);
      } catch (error) {
        if (attempt >= attempts || errors.isFinal(error)) throw error;
        const waitMs = Math.min(backoffMs * 2 ** (attempt - 1), setup.retryWaitMs);
        const texts = [String(attempt), String(attempts), String(waitMs), describe(error, setup.fileName)];
        await calls
          .ask('retry', texts, () => undefined)
          .catch((refusal) => {
            refusal.cause = error;
            throw refusal;
          });
      }
    }
  }

  return retry;
}
