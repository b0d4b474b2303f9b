/**
 * Work that is collected first and done together: each part that is added gives a way to its result.
 *
 * Owns how rounds are dealt out over worlds.
 */
import type { ExperimentName, GivenOf, ResultOf } from './experiments.ts';
import type { Price } from './meter.ts';
import { type PoolOptions, runTasks, type Task, task } from './pool.ts';
import type { RunRecord } from './rounds.ts';

/** Rounds that are played in one world. Fewer: more time goes into building worlds. More: threads end at different times. */
const ROUNDS_PER_PART = 125;

export class Plan {
  readonly #tasks: Task[] = [];
  #results: unknown[] | null = null;

  get size(): number {
    return this.#tasks.length;
  }

  add<N extends ExperimentName>(name: N, given: GivenOf<N>): () => ResultOf<N> {
    const index = this.#tasks.push(task(name, given) as Task) - 1;
    return () => {
      if (this.#results === null) throw new Error('a result was asked for before the work was done');
      return this.#results[index] as ResultOf<N>;
    };
  }

  /** Rounds in several worlds; their records in order. */
  addRounds(given: Omit<GivenOf<'rounds'>, 'firstRound' | 'metered'>): () => RunRecord[] {
    const parts: (() => { records: RunRecord[] })[] = [];
    for (let firstRound = 0; firstRound < given.rounds; firstRound += ROUNDS_PER_PART) {
      const rounds = Math.min(ROUNDS_PER_PART, given.rounds - firstRound);
      parts.push(this.add('rounds', { ...given, firstRound, rounds, metered: false }));
    }
    return () => parts.flatMap((part) => part().records);
  }

  /** The price of some rounds, on the whole stack. */
  addPrice(given: Omit<GivenOf<'rounds'>, 'firstRound' | 'metered' | 'weighsAnswers'>): () => Price {
    const part = this.add('rounds', { ...given, firstRound: 0, metered: true, weighsAnswers: false });
    return () => part().price;
  }

  async run(options: PoolOptions): Promise<void> {
    this.#results = await runTasks(this.#tasks, options);
  }
}
