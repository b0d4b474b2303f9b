/**
 * Every statistic of the bench: what a median, a percentile and an interval mean here.
 *
 * Owns the definitions; the arithmetic is `simple-statistics` where it has it. A percentile is the linear interpolation
 * between the two nearest ranks (position `p · (n - 1)`, Hyndman and Fan's type 7, as NumPy and R do it). Samples are
 * kept whole, so nothing is rounded into buckets. Knows no unit.
 */
import { mean, quantileSorted, sampleStandardDeviation } from 'simple-statistics';
import { z } from 'zod';
import type { Random } from '../protocol/ports.ts';

/** A sample, in ascending order. */
export type Sorted = readonly number[];

export function sorted(sample: readonly number[]): Sorted {
  return [...sample].sort((a, b) => a - b);
}

/** `p` from 0 to 1. */
export function percentile(sample: Sorted, p: number): number {
  return quantileSorted(sample as number[], p);
}

export function medianOf(sample: readonly number[]): number {
  return percentile(sorted(sample), 0.5);
}

export const summarySchema = z.strictObject({
  n: z.int(),
  mean: z.number(),
  /** Standard deviation of the sample (n - 1); 0 for a single value. */
  sd: z.number(),
  min: z.number(),
  median: z.number(),
  p95: z.number(),
  p99: z.number(),
  max: z.number(),
});
export type Summary = Readonly<z.infer<typeof summarySchema>>;

/** Null for an empty sample: there is nothing to say of it. */
export function summarize(sample: readonly number[]): Summary | null {
  if (sample.length === 0) return null;
  const ascending = sorted(sample);
  return {
    n: ascending.length,
    mean: meanOf(ascending),
    sd: deviationOf(ascending),
    min: ascending[0]!,
    median: percentile(ascending, 0.5),
    p95: percentile(ascending, 0.95),
    p99: percentile(ascending, 0.99),
    max: ascending.at(-1)!,
  };
}

/** Every value to so many digits behind the point. */
export function roundedSummary(summary: Summary, digits: number): Summary {
  const parts = 10 ** digits;
  const entries = Object.entries(summary).map(([name, value]) => [name, Math.round(value * parts) / parts]);
  return Object.fromEntries(entries) as Summary;
}

export function meanOf(sample: readonly number[]): number {
  return mean(sample as number[]);
}

export function deviationOf(sample: readonly number[]): number {
  return sample.length < 2 ? 0 : sampleStandardDeviation(sample as number[]);
}

export interface Interval {
  readonly low: number;
  readonly high: number;
}

export interface BootstrapOptions {
  readonly random: Random;
  /** Resamples; 2,000 place the ends of a 95 % interval to about 2 % of its width. */
  readonly resamples?: number;
  /** Share of the resampled means that the interval holds. */
  readonly level?: number;
}

/**
 * A percentile-bootstrap interval of the mean. Groups are drawn, not values: runs of one round share its luck, and
 * drawing them one by one would make the interval too narrow. Null when there is nothing to draw from.
 */
export function bootstrapMean(groups: readonly (readonly number[])[], options: BootstrapOptions): Interval | null {
  const { random, resamples = 2_000, level = 0.95 } = options;
  const sums = groups.filter((group) => group.length > 0).map((group) => ({ sum: sumOf(group), count: group.length }));
  if (sums.length === 0) return null;
  const means: number[] = [];
  for (let resample = 0; resample < resamples; resample++) {
    let sum = 0;
    let count = 0;
    for (let draw = 0; draw < sums.length; draw++) {
      const group = sums[Math.floor(random.next() * sums.length)]!;
      sum += group.sum;
      count += group.count;
    }
    means.push(sum / count);
  }
  const ascending = sorted(means);
  const tail = (1 - level) / 2;
  return { low: percentile(ascending, tail), high: percentile(ascending, 1 - tail) };
}

function sumOf(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}
