/**
 * A batch of the simulation in the form that all results of the bench have.
 *
 * Owns which part of it follows from the seed. Members that a batch has besides are kept as they are.
 */
import { systemClock } from '../protocol/host/system-ports.ts';
import { provenance } from './provenance.ts';
import { FORMAT, FORMAT_VERSION, type SimResult } from './result-format.ts';
import type { BatchReport } from './sim/run/batch.ts';

export async function simResult(report: BatchReport): Promise<SimResult> {
  const { first_seed, seeds, path, jobs, wall_ms, seeds_per_s, runs_per_s, ...found } = report;
  const through = path === 'direct' ? '' : ` --path ${path}`;
  return {
    format: FORMAT,
    format_version: FORMAT_VERSION,
    kind: 'sim',
    command: `npm run bench -- sim --seeds ${seeds} --seed ${first_seed}${through}`,
    seed: first_seed,
    made: await provenance(),
    first_seed,
    seeds,
    path,
    ...found,
    failed: found.failed.map((each) => ({ ...each })),
    wall_clock: {
      started_at: new Date(systemClock.now() - wall_ms).toISOString(),
      duration_ms: wall_ms,
      jobs,
      seeds_per_s,
      runs_per_s,
    },
  };
}
