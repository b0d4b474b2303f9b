/**
 * How far a published figure may be from ours when both come from the same system: what follows from the sample sizes.
 *
 * Owns the statistics of PASS and FAIL. All of them ask one question: is the difference more than {@link ERRORS} standard
 * errors of the difference of two independent samples, theirs and ours, plus what is known to differ (the rounding of a
 * published figure, the network of ours)?
 */
import { deviationOf, meanOf, percentile, type Sorted } from '../statistics.ts';

/** Standard errors. A right figure fails by chance once in 16,000 rows; all rows of a run together, once in 250 runs. */
export const ERRORS = 4;

/** Chance beyond {@link ERRORS} standard errors on one side. */
const TAIL = 3.17e-5;

/** Null: no bound on this side; the samples are too small for one. */
export interface Accepted {
  readonly low: number | null;
  readonly high: number | null;
}

/** What the two differ in for other reasons than chance. */
export interface Slack {
  /** Sample size of the published figure. */
  readonly n: number;
  /** Half a unit of its last digit, and what the network adds. */
  readonly slack: number;
}

export function acceptedMean(sample: readonly number[], { n, slack }: Slack): Accepted {
  return around(meanOf(sample), ERRORS * deviationOf(sample) * jointly(sample.length, n) + slack);
}

/**
 * The share of a sample below the true percentile is binomial, whatever the distribution: so the published figure has to
 * be between two percentiles of ours, that far apart.
 */
export function acceptedPercentile(sample: Sorted, p: number, { n, slack }: Slack): Accepted {
  const spread = ERRORS * Math.sqrt(p * (1 - p)) * jointly(sample.length, n);
  return {
    low: p - spread <= 0 ? null : percentile(sample, p - spread) - slack,
    high: p + spread >= 1 ? null : percentile(sample, p + spread) + slack,
  };
}

/**
 * The greatest of n is almost never below the percentile that n draws almost surely exceed. Nothing but the shape of the
 * tail bounds it from above; as far above our greatest as that percentile is below it is taken for a bound.
 */
export function acceptedGreatest(sample: Sorted, { n, slack }: Slack): Accepted {
  const greatest = sample.at(-1)!;
  const reach = greatest - percentile(sample, TAIL ** (1 / Math.min(n, sample.length)));
  return around(greatest, reach + slack);
}

/** Of `n` published cases, how many may be of a kind that ours have `count` times in `of`. */
export function acceptedCount({ count, of }: { count: number; of: number }, { n, slack }: Slack): Accepted {
  const share = count / of;
  return around(n * share, n * ERRORS * Math.sqrt(share * (1 - share)) * jointly(of, n) + slack);
}

/** A single draw from something near lognormal, as a sum of run times is. */
export function acceptedDraw(sample: readonly number[], slack: number): Accepted {
  const logs = sample.map(Math.log);
  const reach = ERRORS * deviationOf(logs) * jointly(sample.length, 1);
  const centre = meanOf(logs);
  return { low: Math.exp(centre - reach) - slack, high: Math.exp(centre + reach) + slack };
}

/**
 * A single draw from something that is spread evenly between a least and a greatest, as a phase is. Beyond what n draws
 * span there is almost never more than this share of it.
 */
export function acceptedWithin(sample: Sorted, slack: number): Accepted {
  const [least, greatest] = [sample[0]!, sample.at(-1)!];
  const beyond = ((greatest - least) * -Math.log(TAIL)) / sample.length;
  return { low: least - beyond - slack, high: greatest + beyond + slack };
}

export function around(centre: number, reach: number): Accepted {
  return { low: centre - reach, high: centre + reach };
}

export function isAccepted(published: number, { low, high }: Accepted): boolean {
  return (low === null || published >= low) && (high === null || published <= high);
}

/** Standard error of the difference of two means, in standard deviations. */
function jointly(ours: number, published: number): number {
  return Math.sqrt(1 / ours + 1 / published);
}
