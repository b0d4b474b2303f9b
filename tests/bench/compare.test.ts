import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { BenchError } from '../../bench/bench-error.ts';
import { findModes } from '../../bench/catalogue.ts';
import { readBaseline } from '../../bench/compare/baseline.ts';
import { type CompareOptions, compare } from '../../bench/compare/compare.ts';
import { compareLines } from '../../bench/compare/text.ts';
import none from '../../bench/faults/none.ts';
import proxyCut from '../../bench/faults/proxy-cut-15s.ts';
import auto from '../../bench/modes/auto.ts';
import longPoll from '../../bench/modes/long-poll.ts';
import plain20s from '../../bench/modes/plain-20s.ts';
import { type CompareResult, compareResultSchema } from '../../bench/result-format.ts';
import { meanOf } from '../../bench/statistics.ts';
import cancel from '../../bench/workloads/cancel.ts';
import { fanout } from '../../bench/workloads/fanout.ts';
import pickup from '../../bench/workloads/pickup.ts';

const SMALL: CompareOptions = {
  seed: 5,
  runs: 40,
  modes: [plain20s, longPoll],
  workloads: [pickup],
  faults: [none],
  threads: 1,
  command: 'a test',
};

function timeless(result: CompareResult): string {
  return JSON.stringify({ ...result, wall_clock: null });
}

t.test('the same seed gives the same result byte for byte, on one thread or two; another seed does not', async (t) => {
  const options = { ...SMALL, workloads: [fanout(2), cancel] };
  const first = await compare(options);
  t.equal(timeless(await compare({ ...options, threads: 2 })), timeless(first));
  t.not(timeless(await compare({ ...options, seed: 6 })), timeless(first));
  t.same(compareResultSchema.parse(JSON.parse(JSON.stringify(first))), first, 'it has the form that is written down');
});

t.test('a difference is that of pairs, and its interval holds it', async (t) => {
  const { differences, cells } = await compare(SMALL);
  const [polled, held] = cells.map(({ samples }) => samples.pickup!);
  const difference = differences.find(({ metric }) => metric === 'pickup')!;
  t.match(difference, { mode: 'long-poll', against: 'plain-20s', n: 40 });
  const pairs = held!.map((value, index) => value! - polled![index]!);
  t.ok(Math.abs(difference.mean_ms - meanOf(pairs)) < 0.01);
  t.ok(difference.low_ms < difference.mean_ms && difference.mean_ms < difference.high_ms);
  t.ok(difference.high_ms < -5_000, 'half a poll is saved, and the interval knows it');
  // Runs are equally long in both modes: what is saved at the start is saved at the end.
  const turnaround = differences.find(({ metric }) => metric === 'turnaround')!;
  t.ok(Math.abs(turnaround.mean_ms - difference.mean_ms) < 50);
});

t.test("a mode of one's own is measured like any other", async (t) => {
  const folder = t.testdir({
    'mine.ts': `export default { name: 'mine', about: 'ten seconds between polls',
      relay: { name: 'plain', holdMs: 0, controlHoldMs: 0, controlPauseMs: 3_000, tickMs: 10_000, takesAll: true } };`,
  });
  const [mine] = await findModes([join(folder, 'mine.ts')]);
  const result = await compare({ ...SMALL, modes: [mine!], runs: 100 });
  const { mean, max } = result.cells[0]!.metrics.pickup!;
  t.ok(Math.abs(mean - 5_045) < (4 * 10_000) / Math.sqrt(12 * 100), `mean ${mean}`);
  t.ok(max < 10_200);
  t.equal(result.idle[0]!.price.requests_per_hour, 360);
});

t.test(
  'where a proxy cuts, the desktop that may choose does better than the one that is held to its way',
  async (t) => {
    const { cells, idle } = await compare({ ...SMALL, modes: [longPoll, auto], faults: [proxyCut] });
    const [held, free] = cells.map(({ metrics }) => metrics.pickup!);
    t.ok(held!.p95 > 1_000, 'a cut leads to a pause');
    t.ok(free!.p95 < 100);
    const [heldIdle, freeIdle] = idle.map(({ price }) => price.held_mean);
    t.ok(freeIdle! > heldIdle!, 'and is there all the time');
  },
);

t.test('a baseline shows what has changed, run by run', async (t) => {
  const before = await compare(SMALL);
  const file = join(t.testdir(), 'before.json');
  writeFileSync(file, JSON.stringify(before));
  const baseline = readBaseline(file, SMALL);
  const same = await compare({ ...SMALL, baseline });
  t.ok(same.baseline!.differences.length > 0);
  t.ok(
    same.baseline!.differences.every(({ mean_ms, low_ms, high_ms }) => mean_ms === 0 && low_ms === 0 && high_ms === 0),
  );
  t.ok(same.baseline!.prices.every(({ before, after }) => before.bytes_per_hour === after.bytes_per_hour));

  const quicker = { ...longPoll, name: 'plain-20s' };
  const changed = await compare({ ...SMALL, modes: [quicker], baseline });
  const difference = changed.baseline!.differences.find(({ metric }) => metric === 'pickup')!;
  t.ok(difference.high_ms < -5_000);
  t.match(compareLines(changed).join('\n'), /Against the baseline/);
});

t.test('a baseline that cannot be paired is refused', async (t) => {
  const folder = t.testdir({ 'other.json': '{"kind":"published"}', 'broken.json': '{' });
  const before = await compare({ ...SMALL, runs: 2 });
  writeFileSync(join(folder, 'seed.json'), JSON.stringify(before));
  writeFileSync(join(folder, 'version.json'), JSON.stringify({ ...before, format_version: 99 }));
  for (const [file, why] of [
    ['other.json', /no result of `compare`/],
    ['broken.json', /JSON/],
    ['missing.json', /no such file/],
    ['seed.json', /--seed 5 --runs 2/],
    ['version.json', /version 99/],
  ] as const) {
    try {
      readBaseline(join(folder, file), SMALL);
      t.fail(`${file} was taken`);
    } catch (error) {
      t.equal((error as BenchError).code, 'baseline-invalid');
      t.match((error as Error).message, why);
    }
  }
});

t.test('the text names each mode, the price and the speed', async (t) => {
  const result = await compare({ ...SMALL, workloads: [pickup, cancel], runs: 10 });
  const text = compareLines(result).join('\n');
  for (const word of ['pickup · none', 'cancel · none', 'long-poll', 'requests/h', 'wake-ups/h', 'tokens', 'runs/s']) {
    t.ok(text.includes(word), word);
  }
  t.notMatch(text, /NaN|undefined|Infinity/);
});
