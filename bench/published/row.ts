/**
 * A row of a table: one figure, published and measured in each mode, and the verdict.
 *
 * Owns how a row is put together. The first mode is the one that is judged; the others stand beside it.
 */
import type { PublishedRow, PublishedTable } from '../result-format.ts';
import { meanOf, percentile, sorted } from '../statistics.ts';
import {
  type Accepted,
  acceptedCount,
  acceptedGreatest,
  acceptedMean,
  acceptedPercentile,
  isAccepted,
  type Slack,
} from './tolerance.ts';

/**
 * Ours have a line of 15 ms and disks of 1 ms between the two sides, which the post has not: four ways at most, each up
 * to 30 % longer, and two writes.
 */
export const NETWORK_SLACK_S = 0.08;

/** How a row is judged. */
export type Rule = PublishedRow['rule'];

interface RowHead {
  readonly name: string;
  readonly unit: PublishedRow['unit'];
  /** Decimals of the published figure. */
  readonly digits: number;
}

export type Statistic = 'mean' | 'median' | 'p95' | 'max';

export interface Measured extends RowHead {
  readonly statistic: Statistic;
  /** Null: nothing was published. */
  readonly published: { readonly value: number; readonly n: number } | null;
  /** Of each mode, in the order of the modes. */
  readonly samples: readonly (readonly number[])[];
  /** Where the network is part of what is measured. */
  readonly networkS?: number;
  /** The row shows so many times the statistic. */
  readonly times?: number;
}

/** A row that is a statistic of a sample. */
export function measuredRow(measured: Measured): PublishedRow {
  const { statistic, published, samples, times = 1 } = measured;
  const scaled = samples.map((sample) => sorted(sample.map((value) => value * times)));
  const ours = scaled.map((sample) => (sample.length === 0 ? null : statisticOf(sample, statistic)));
  const judged = scaled[0]!;
  if (published === null || judged.length === 0) return openRow(measured, ours, published?.value ?? null);
  const slack = { n: published.n, slack: halfUnit(measured) + (measured.networkS ?? 0) };
  return judgedRow(measured, { published: published.value, ours, ...acceptedBy(judged, statistic, slack) });
}

function acceptedBy(sample: readonly number[], statistic: Statistic, slack: Slack): { accepted: Accepted; rule: Rule } {
  switch (statistic) {
    case 'mean':
      return { rule: 'mean', accepted: acceptedMean(sample, slack) };
    case 'median':
      return { rule: 'percentile', accepted: acceptedPercentile(sample, 0.5, slack) };
    case 'p95':
      return { rule: 'percentile', accepted: acceptedPercentile(sample, 0.95, slack) };
    case 'max':
      return { rule: 'greatest', accepted: acceptedGreatest(sample, slack) };
  }
}

function statisticOf(sample: readonly number[], statistic: Statistic): number {
  switch (statistic) {
    case 'mean':
      return meanOf(sample);
    case 'median':
      return percentile(sample, 0.5);
    case 'p95':
      return percentile(sample, 0.95);
    case 'max':
      return sample.at(-1)!;
  }
}

/** How many of ours are of a kind, for as many cases as were published. */
export function countRow(
  head: RowHead,
  given: { published: number; n: number; ours: readonly { count: number; of: number }[] },
): PublishedRow {
  const { published, n, ours } = given;
  const accepted = acceptedCount(ours[0]!, { n, slack: 0.5 });
  const shown = ours.map(({ count, of }) => (count / of) * n);
  return judgedRow(head, { published, ours: shown, accepted, rule: 'count' });
}

/** A row that either is as published or is not. */
export function exactRow(
  head: RowHead,
  published: string | number,
  ours: readonly (string | number | null)[],
): PublishedRow {
  return {
    ...head,
    published,
    ours: [...ours],
    accepted: null,
    rule: 'exact',
    verdict: ours[0] === published ? 'PASS' : 'FAIL',
  };
}

/** A row with bounds that its table knows. */
export function judgedRow(
  { name, unit, digits }: RowHead,
  judged: { published: number; ours: readonly (number | null)[]; accepted: Accepted; rule: Rule },
): PublishedRow {
  const { published, ours, accepted, rule } = judged;
  const verdict = isAccepted(published, accepted) ? 'PASS' : 'FAIL';
  return { name, unit, digits, published, ours: [...ours], accepted, rule, verdict };
}

/** A row that nobody has published, or that ours had no case of: the latter is a failure to measure, and shows. */
function openRow({ name, unit, digits }: RowHead, ours: readonly (number | null)[], published: number | null) {
  const row = { name, unit, digits, published, ours: [...ours], accepted: null, rule: null };
  return { ...row, verdict: published === null ? null : ('FAIL' as const) };
}

/** What rounding to so many digits hides. */
export function halfUnit({ digits }: Pick<RowHead, 'digits'>): number {
  return 0.5 * 10 ** -digits;
}

export function tableOf(head: Omit<PublishedTable, 'rows'>, rows: readonly PublishedRow[]): PublishedTable {
  return { ...head, rows: [...rows] };
}
