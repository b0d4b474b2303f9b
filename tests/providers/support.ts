/** What the tests of providers share: requests, a clock whose timers the test fires, and the error of what fails. */
import type { AgentRequest } from '../../desktop-agent/engine/agent-provider.ts';
import type { Clock, Random } from '../../protocol/ports.ts';

export function request(more: Partial<AgentRequest> = {}): AgentRequest {
  return { prompt: 'What is a graph?', label: 'a', signal: new AbortController().signal, runId: 'r', ...more };
}

/** Chance that is always in the middle. */
export const middle: Random = { next: () => 0.5 };

export interface TestTimer {
  readonly delayMs: number;
  fire(): void;
  readonly isCancelled: boolean;
}

export interface TestClock extends Clock {
  readonly timers: readonly TestTimer[];
  /** Resolves with the timer of this number, past or to come. */
  timer(number: number): Promise<TestTimer>;
}

/** Stands still; a timer goes off when the test fires it. */
export function testClock(now = 1_790_000_000_000): TestClock {
  const timers: (TestTimer & { isCancelled: boolean })[] = [];
  const waiting: { readonly number: number; readonly resolve: (timer: TestTimer) => void }[] = [];
  return {
    timers,
    now: () => now,
    monotonic: () => 0,
    after(delayMs, run) {
      const timer = { delayMs, fire: () => timer.isCancelled || run(), isCancelled: false };
      timers.push(timer);
      for (const each of waiting) if (each.number === timers.length) each.resolve(timer);
      return {
        cancel: () => {
          timer.isCancelled = true;
        },
      };
    },
    timer: (number) => {
      const found = timers[number - 1];
      return found ? Promise.resolve(found) : new Promise((resolve) => waiting.push({ number, resolve }));
    },
  };
}

/** The error that a promise ends with. */
export async function failure(asked: Promise<unknown>): Promise<Error> {
  const value = await asked.then(
    () => null,
    (error: unknown) => error,
  );
  if (value instanceof Error) return value;
  throw new Error('there was an answer, and should be none');
}
