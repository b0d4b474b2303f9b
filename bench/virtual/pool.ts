/**
 * Spreads pieces of work over threads.
 *
 * Owns the threads. Results come back in the order of the work, whoever did it and when: what is measured does not
 * depend on the number of threads.
 */
import { Worker } from 'node:worker_threads';
import { siblingModule } from '../../protocol/host/sibling-module.ts';
import { EXPERIMENTS, type ExperimentName, type GivenOf, type ResultOf } from './experiments.ts';

/** A piece of work, with a type of its own for what comes back. */
export interface Task<N extends ExperimentName = ExperimentName> {
  readonly name: N;
  readonly given: GivenOf<N>;
}

export function task<N extends ExperimentName>(name: N, given: GivenOf<N>): Task<N> {
  return { name, given };
}

export interface PoolOptions {
  /** 1 works in this thread. */
  readonly threads: number;
  /** Told after each piece how many are done. */
  readonly onDone?: (done: number) => void;
}

export async function runTask<N extends ExperimentName>({ name, given }: Task<N>): Promise<ResultOf<N>> {
  return (await (EXPERIMENTS[name] as (given: GivenOf<N>) => Promise<unknown>)(given)) as ResultOf<N>;
}

export async function runTasks(tasks: readonly Task[], { threads, onDone }: PoolOptions): Promise<unknown[]> {
  const results: unknown[] = new Array(tasks.length);
  let next = 0;
  let done = 0;
  const takeAll = async (run: (task: Task) => Promise<unknown>) => {
    while (next < tasks.length) {
      const index = next++;
      results[index] = await run(tasks[index]!);
      onDone?.(++done);
    }
  };
  if (threads === 1) {
    await withoutStacks(() => takeAll(runTask));
    return results;
  }
  const workers = Array.from({ length: Math.min(threads, tasks.length) }, () => new Thread());
  try {
    await Promise.all(workers.map((worker) => takeAll((each) => worker.run(each))));
  } finally {
    await Promise.all(workers.map((worker) => worker.end()));
  }
  return results;
}

/**
 * Errors are everyday life in a simulation (each call that is taken back is one), and nobody reads where they were made.
 * Collecting that costs a tenth of the time, and with source maps most of it.
 */
async function withoutStacks(work: () => Promise<void>): Promise<void> {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    await work();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** What a thread answers. */
export type Answer = { readonly result: unknown } | { readonly failure: string };

class Thread {
  readonly #worker = new Worker(siblingModule('./worker', import.meta.url));

  run(task: Task): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const ended = (code: number) => reject(new Error(`a thread of the bench ended with code ${code}`));
      this.#worker.once('error', reject);
      this.#worker.once('exit', ended);
      this.#worker.once('message', (answer: Answer) => {
        this.#worker.off('error', reject);
        this.#worker.off('exit', ended);
        if ('result' in answer) resolve(answer.result);
        else reject(new Error(answer.failure));
      });
      this.#worker.postMessage(task);
    });
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}
