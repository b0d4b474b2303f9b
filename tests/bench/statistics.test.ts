import t from 'tap';
import { drawMs, PUBLISHED_RUN_TIME } from '../../bench/draws.ts';
import { namedRandom } from '../../bench/sim/seeded.ts';
import { bootstrapMean, meanOf, percentile, sorted, summarize } from '../../bench/statistics.ts';

t.test('a percentile is interpolated between the two nearest ranks, as NumPy and R (type 7) do it', async (t) => {
  const ten = sorted([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
  // numpy.percentile(range(1, 11), [0, 25, 50, 95, 99, 100])
  for (const [p, value] of [
    [0, 1],
    [0.25, 3.25],
    [0.5, 5.5],
    [0.95, 9.55],
    [0.99, 9.91],
    [1, 10],
  ] as const) {
    t.ok(Math.abs(percentile(ten, p) - value) < 1e-12, `${p}: ${percentile(ten, p)}`);
  }
  t.equal(percentile([7], 0.95), 7);
});

t.test('a summary has the known values of a known sample', async (t) => {
  const summary = summarize([2, 4, 4, 4, 5, 5, 7, 9])!;
  t.equal(summary.n, 8);
  t.equal(summary.mean, 5);
  // The population's deviation is 2; a sample of 8 estimates √(32/7).
  t.ok(Math.abs(summary.sd - Math.sqrt(32 / 7)) < 1e-12);
  t.same([summary.min, summary.median, summary.max], [2, 4.5, 9]);
  t.equal(summarize([3])!.sd, 0);
  t.equal(summarize([]), null);
});

t.test('a bootstrap interval is that of the normal approximation where this one holds', async (t) => {
  const random = namedRandom(1, 'sample');
  const sample = Array.from({ length: 400 }, () => random.next());
  const interval = bootstrapMean(
    sample.map((value) => [value]),
    { random: namedRandom(1, 'bootstrap') },
  )!;
  const { mean, sd } = summarize(sample)!;
  const reach = (1.96 * sd) / Math.sqrt(400);
  t.ok(Math.abs(interval.low - (mean - reach)) < reach / 8, `${interval.low} and ${mean - reach}`);
  t.ok(Math.abs(interval.high - (mean + reach)) < reach / 8, `${interval.high} and ${mean + reach}`);
});

t.test('a bootstrap repeats itself with the same seed, and draws groups whole', async (t) => {
  const random = namedRandom(2, 'sample');
  const alone = Array.from({ length: 300 }, () => [random.next()]);
  const again = () => bootstrapMean(alone, { random: namedRandom(3, 'bootstrap') });
  t.same(again(), again());
  // Each value five times over is no more evidence than once, when the five are one round.
  const together = alone.map(([value]) => Array<number>(5).fill(value!));
  t.same(bootstrapMean(together, { random: namedRandom(3, 'bootstrap') })!.low.toFixed(9), again()!.low.toFixed(9));
  t.equal(bootstrapMean([[], []], { random }), null);
});

t.test('run times have the median, the mean and the least of their lognormal distribution', async (t) => {
  const random = namedRandom(4, 'run times');
  const sample = Array.from({ length: 20_000 }, () => drawMs(PUBLISHED_RUN_TIME, random) / 1_000);
  const { median, mean, min } = summarize(sample)!;
  t.ok(Math.abs(median - 60) < 1.5, `median ${median}`);
  t.ok(Math.abs(mean - 60 * Math.exp(0.32)) < 2.5, `mean ${mean}`);
  t.equal(min, 5);
  const uniform = Array.from({ length: 20_000 }, () => drawMs({ uniform: [10, 30] }, random) / 1_000);
  t.ok(Math.abs(meanOf(uniform) - 20) < 0.2);
  t.equal(drawMs(7, random), 7_000);
});
