import t from 'tap';
import { drawMs, PUBLISHED_RUN_TIME } from '../../bench/draws.ts';
import {
  type Accepted,
  acceptedCount,
  acceptedDraw,
  acceptedGreatest,
  acceptedMean,
  acceptedPercentile,
  acceptedWithin,
  isAccepted,
} from '../../bench/published/tolerance.ts';
import { namedRandom } from '../../bench/sim/seeded.ts';
import { meanOf, percentile, sorted } from '../../bench/statistics.ts';

const REPEATS = 300;
const N = 500;
const slack = { n: N, slack: 0 };

/** Draws two samples of one system again and again. Returns how often the first is accepted by the second. */
function acceptedTimes(
  draw: (random: ReturnType<typeof namedRandom>) => number,
  judge: (theirs: readonly number[], ours: readonly number[]) => { published: number; accepted: Accepted },
): number {
  let times = 0;
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    const random = namedRandom(repeat, 'two samples');
    const sample = () => sorted(Array.from({ length: N }, () => draw(random)));
    const { published, accepted } = judge(sample(), sample());
    if (isAccepted(published, accepted)) times++;
  }
  return times;
}

const uniform = (random: { next(): number }) => 20 * random.next();
const runTime = (random: { next(): number }) => drawMs(PUBLISHED_RUN_TIME, random) / 1_000;

for (const [name, draw] of [
  ['uniform', uniform],
  ['lognormal', runTime],
] as const) {
  t.test(`two samples of one system accept each other (${name})`, async (t) => {
    const mean = acceptedTimes(draw, (theirs, ours) => ({
      published: meanOf(theirs),
      accepted: acceptedMean(ours, slack),
    }));
    const median = acceptedTimes(draw, (theirs, ours) => ({
      published: percentile(theirs, 0.5),
      accepted: acceptedPercentile(ours, 0.5, slack),
    }));
    t.same([mean, median], [REPEATS, REPEATS]);
  });
}

t.test('what differs by much more than its sample size allows is refused', async (t) => {
  const shifted = acceptedTimes(uniform, (theirs, ours) => ({
    published: meanOf(theirs) + 3,
    accepted: acceptedMean(ours, slack),
  }));
  t.equal(shifted, 0);
  const random = namedRandom(1, 'sample');
  const sample = sorted(Array.from({ length: 2_000 }, () => uniform(random)));
  const many = { n: 2_000, slack: 0.05 };
  // The 95th percentile of 20 s is 19 s; 17.9 s would be the 89th.
  t.equal(isAccepted(18.9, acceptedPercentile(sample, 0.95, many)), true);
  t.equal(isAccepted(17.9, acceptedPercentile(sample, 0.95, many)), false);
  t.equal(isAccepted(20, acceptedGreatest(sample, many)), true);
  t.equal(isAccepted(19.5, acceptedGreatest(sample, many)), false);
  t.equal(isAccepted(20.5, acceptedGreatest(sample, many)), false);
  t.equal(isAccepted(21, acceptedWithin(sample, 0)), false);
});

t.test('the tolerance of a mean is four standard errors of a difference', async (t) => {
  const { low, high } = acceptedMean([1, 3], { n: 2, slack: 0.5 });
  const reach = 4 * Math.SQRT2 * Math.sqrt(1 / 2 + 1 / 2) + 0.5;
  t.ok(Math.abs(high! - (2 + reach)) < 1e-12);
  t.ok(Math.abs(low! - (2 - reach)) < 1e-12);
});

t.test('a count is judged as a share of cases, whatever the number of ours', async (t) => {
  const accepted = acceptedCount({ count: 25, of: 100 }, { n: 2_000, slack: 0.5 });
  const reach = 2_000 * 4 * Math.sqrt(0.25 * 0.75 * (1 / 100 + 1 / 2_000)) + 0.5;
  t.ok(Math.abs(accepted.high! - (500 + reach)) < 1e-9);
  t.equal(isAccepted(523, accepted), true);
  t.equal(isAccepted(1_500, accepted), false);
});

t.test('too few runs bound a percentile on one side only, and say so', async (t) => {
  const few = acceptedPercentile(sorted([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), 0.95, { n: 500, slack: 0 });
  t.equal(few.high, null);
  t.equal(few.low === null || few.low < 10, true);
  t.equal(isAccepted(1_000, few), true);
});

t.test('a single draw is judged by the spread of ours', async (t) => {
  const random = namedRandom(2, 'sums');
  const sums = Array.from({ length: 200 }, () => [0, 0, 0, 0, 0].reduce((sum) => sum + runTime(random), 0));
  t.equal(isAccepted(131, acceptedDraw(sums, 0)), true);
  t.equal(isAccepted(20, acceptedDraw(sums, 0)), false);
});
