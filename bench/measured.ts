/**
 * Does a plan's work and says how long it took: what all commands in virtual time have in common.
 *
 * Owns the part of a result that depends on the real clock.
 */
import { availableParallelism } from 'node:os';
import { systemClock } from '../protocol/host/system-ports.ts';
import { createProgress } from './progress.ts';
import type { WallClock } from './result-format.ts';
import type { Plan } from './virtual/plan.ts';

export interface MeasureOptions {
  /** Shown beside the progress bar. */
  readonly label: string;
  /** 1 works in this thread; as many as there are cores when left out. */
  readonly threads?: number | undefined;
  /** How many runs were simulated, once all is done. */
  readonly countRuns: () => number;
}

export async function measure(plan: Plan, { label, threads, countRuns }: MeasureOptions): Promise<WallClock> {
  const used = threads ?? availableParallelism();
  const started = systemClock.now();
  const startedAt = systemClock.monotonic();
  const progress = createProgress(label, plan.size);
  try {
    await plan.run({ threads: used, onDone: progress.done });
  } finally {
    progress.end();
  }
  const durationMs = systemClock.monotonic() - startedAt;
  const runs = countRuns();
  return {
    started_at: new Date(started).toISOString(),
    duration_ms: Math.round(durationMs),
    threads: used,
    simulated_runs: runs,
    simulated_runs_per_s: Math.round((runs * 1_000) / durationMs),
  };
}
