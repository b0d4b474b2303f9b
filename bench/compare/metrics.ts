/**
 * What is compared of a run, in milliseconds.
 *
 * Owns the names of the metrics. A run that has none of a kind (one that never began has no pickup) says null.
 */
import type { RunRecord } from '../virtual/rounds.ts';

export const METRICS = {
  /** Queued until its Graph begins on the desktop. */
  pickup: ({ startedAt, queuedAt }) => (startedAt === null ? null : startedAt - queuedAt),
  /** Queued until the relay has the result. */
  turnaround: ({ status, knownAt, queuedAt }) => (status === 'completed' ? knownAt - queuedAt : null),
  /** The Graph has ended until the relay knows. */
  delivery: ({ endedAt, knownAt }) => (endedAt === null ? null : knownAt - endedAt),
  /** A cancel of a running run until its agent is told of the end. */
  cancel: ({ cancel, knownAt }) => (cancel?.found === 'running' ? knownAt - cancel.askedAt : null),
} as const satisfies Record<string, (run: RunRecord) => number | null>;

export type MetricName = keyof typeof METRICS;
export const METRIC_NAMES = Object.keys(METRICS) as MetricName[];

export type Sample = (number | null)[];

/** To the hundredth of a millisecond: more digits would be noise in a file. */
export function sampleOf(metric: MetricName, records: readonly RunRecord[]): Sample {
  return records.map((record) => {
    const value: number | null = METRICS[metric](record);
    return value === null ? null : Math.round(value * 100) / 100;
  });
}

export function present(sample: Sample): number[] {
  return sample.filter((value) => value !== null);
}
