/**
 * Paired differences: the same run of the same round, once in one mode and once in another.
 *
 * Owns the pairing. Runs of a round share its luck, so the bootstrap draws rounds, not runs. Its chance has a seed.
 */
import type { Cell, Difference } from '../result-format.ts';
import { namedRandom } from '../sim/seeded.ts';
import { bootstrapMean, meanOf, percentile, sorted } from '../statistics.ts';
import { METRIC_NAMES, type Sample } from './metrics.ts';

/** `cell` minus `against`, for each metric that both have. */
export function differencesOf(cell: Cell, against: Cell, given: { seed: number; againstName: string }): Difference[] {
  const { workload, fault, mode } = cell;
  return METRIC_NAMES.flatMap((metric) => {
    const groups = pairedByRound(cell, against, metric);
    const all = groups.flat();
    if (all.length === 0) return [];
    const name = `bootstrap ${workload} ${fault} ${metric} ${mode} ${given.againstName}`;
    const interval = bootstrapMean(groups, { random: namedRandom(given.seed, name) })!;
    return {
      workload,
      fault,
      metric,
      mode,
      against: given.againstName,
      n: all.length,
      mean_ms: rounded(meanOf(all)),
      median_ms: rounded(percentile(sorted(all), 0.5)),
      low_ms: rounded(interval.low),
      high_ms: rounded(interval.high),
    };
  });
}

function pairedByRound(cell: Cell, against: Cell, metric: string): number[][] {
  const [ours, theirs]: (Sample | undefined)[] = [cell.samples[metric], against.samples[metric]];
  if (ours === undefined || theirs === undefined) return [];
  const perRound = cell.runs / cell.rounds;
  const groups: number[][] = Array.from({ length: cell.rounds }, () => []);
  for (const [index, value] of ours.entries()) {
    const other = theirs[index] ?? null;
    if (value !== null && other !== null) groups[Math.floor(index / perRound)]!.push(value - other);
  }
  return groups;
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}

/** Each mode against each one before it. */
export function allDifferences(cells: readonly Cell[], seed: number): Difference[] {
  return cells.flatMap((cell, index) =>
    cells
      .slice(0, index)
      .filter((other) => other.workload === cell.workload && other.fault === cell.fault)
      .flatMap((other) => differencesOf(cell, other, { seed, againstName: other.mode })),
  );
}
