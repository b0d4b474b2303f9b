/**
 * Code of the sandbox: the globals that order work (`parallel`, `pipeline`).
 *
 * Sent into the interpreter as its own source text (`toString()`), before the Graph: it must not refer to anything
 * outside itself.
 */
import type { GuestErrors } from './guest-errors.ts';

export interface GuestFlow {
  parallel(thunks: unknown): Promise<unknown[]>;
  pipeline(items: unknown, ...stages: unknown[]): Promise<unknown[]>;
}

export function makeFlow(errors: GuestErrors): GuestFlow {
  /**
   * Waits for all, also when some fail, so that nothing goes on unseen, and then rejects with the error of the first in
   * order (not in time: runs stay repeatable).
   */
  async function all(started: readonly Promise<unknown>[]): Promise<unknown[]> {
    const results: unknown[] = [];
    let failure: { readonly error: unknown } | undefined;
    for (const running of started) {
      try {
        results.push(await running);
      } catch (error) {
        failure ??= { error };
      }
    }
    if (failure !== undefined) throw failure.error;
    return results;
  }

  async function parallel(thunks: unknown): Promise<unknown[]> {
    const usage = 'parallel(list of functions), for example parallel(topics.map((topic) => () => agent(topic)))';
    if (!Array.isArray(thunks)) throw errors.misuse(`${usage}: the argument is not a list`);
    for (let index = 0; index < thunks.length; index += 1) {
      if (typeof thunks[index] === 'function') continue;
      throw errors.misuse(`${usage}: entry ${index} is not a function; write \`() => agent(…)\`, not \`agent(…)\``);
    }
    const started: Promise<unknown>[] = [];
    for (const thunk of thunks) started.push((async () => thunk())());
    return all(started);
  }

  /** Each item goes through the stages by itself: the first may be done before the last has begun. */
  async function pipeline(items: unknown, ...stages: unknown[]): Promise<unknown[]> {
    const usage = 'pipeline(list, ...functions of (value, item, index))';
    if (!Array.isArray(items)) throw errors.misuse(`${usage}: the first argument is not a list`);
    if (stages.length === 0) throw errors.misuse(`${usage}: there is no stage`);
    for (let index = 0; index < stages.length; index += 1) {
      if (typeof stages[index] === 'function') continue;
      throw errors.misuse(`${usage}: stage ${index + 1} is not a function`);
    }
    const steps = stages as ((value: unknown, item: unknown, index: number) => unknown)[];
    async function flow(item: unknown, index: number): Promise<unknown> {
      let value = item;
      for (const step of steps) value = await step(value, item, index);
      return value;
    }
    const started: Promise<unknown>[] = [];
    for (let index = 0; index < items.length; index += 1) started.push(flow(items[index], index));
    return all(started);
  }

  return { parallel, pipeline };
}
