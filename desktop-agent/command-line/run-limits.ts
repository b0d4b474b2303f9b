/**
 * What the owner allows each run, on the command line of the desktop or in its environment. A Graph may ask for less.
 *
 * Owns their names and ranges. Why each is usually as it is, is said in `engine/engine-limits.ts`.
 */
import type { Option } from 'commander';
import { countOption, durationOption, durationText } from '../../protocol/host/limit-options.ts';
import { DEFAULT_ENGINE_LIMITS, type EngineLimits } from '../engine/engine-limits.ts';

const DAY_MS = 86_400_000;

/** As commander gives them. */
export interface RunLimitWords {
  /** Null for no ceiling. */
  readonly runTokens: number | null;
  readonly runTime: number;
  readonly runAgents: number;
  readonly agentsAtOnce: number;
}

export function runLimitOptions(): Option[] {
  const { totalTokens, wallMs, agentsPerRun, maxConcurrency } = DEFAULT_ENGINE_LIMITS;
  return [
    countOption({
      name: 'run-tokens',
      unit: 'tokens',
      what: 'tokens of one run; no agent starts when they are spent',
      min: 1,
      max: 999_999_999,
      usual: totalTokens,
    }),
    durationOption({ name: 'run-time', what: 'time of one run', min: 1_000, max: 7 * DAY_MS, usual: wallMs }),
    countOption({
      name: 'run-agents',
      unit: 'agents',
      what: 'agents of one run',
      min: 1,
      max: 100_000,
      usual: agentsPerRun,
    }),
    // Each is a request or a process of its own.
    countOption({
      name: 'agents-at-once',
      unit: 'agents',
      what: 'agents of one run at the same time',
      min: 1,
      max: 256,
      usual: maxConcurrency,
    }),
  ];
}

export function runLimitsIn(words: RunLimitWords): Partial<EngineLimits> {
  return {
    totalTokens: words.runTokens,
    wallMs: words.runTime,
    agentsPerRun: words.runAgents,
    maxConcurrency: words.agentsAtOnce,
  };
}

/** The same as words of a command line, for another process. */
export function runLimitArguments(words: RunLimitWords): [flag: string, value: string | undefined][] {
  return [
    ['--run-tokens', words.runTokens === null ? undefined : String(words.runTokens)],
    ['--run-time', durationText(words.runTime)],
    ['--run-agents', String(words.runAgents)],
    ['--agents-at-once', String(words.agentsAtOnce)],
  ];
}
