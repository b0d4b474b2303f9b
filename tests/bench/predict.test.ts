import t, { type Test } from 'tap';
import longPoll from '../../bench/modes/long-poll.ts';
import plain20s from '../../bench/modes/plain-20s.ts';
import { type PredictOptions, predict } from '../../bench/predict/predict.ts';
import { predictLines } from '../../bench/predict/text.ts';
import { predictResultSchema } from '../../bench/result-format.ts';

const SMALL: PredictOptions = {
  seed: 2,
  runs: 40,
  threads: 1,
  runsPerDay: 20,
  rttMs: 80,
  modes: [longPoll],
  command: 'a test',
};

const PREDICTED = await predict(SMALL);

t.test('the round trip is that of the simulated line: a held request is answered in three ways', async (t) => {
  const pickup = async (rttMs: number) => (await predict({ ...SMALL, rttMs })).days[1]!.pickup_mean_s * 1_000;
  for (const rttMs of [0, 400]) {
    // Each way is 30 % longer or shorter at most, and two writes lie between.
    const [least, most] = [3 * 0.7 * (rttMs / 2), 3 * 1.3 * (rttMs / 2) + 5];
    const found = await pickup(rttMs);
    t.ok(found >= least && found <= most, `${rttMs} ms: ${found} ms`);
  }
  t.equal(PREDICTED.conditions.way_ms, 40);
});

t.test('a day is what was measured: hours with runs, and hours without', async (t) => {
  t.same(
    PREDICTED.days.map(({ mode }) => mode),
    ['plain-20s', 'long-poll'],
  );
  for (const [index, day] of PREDICTED.days.entries()) {
    const { idle, busy } = PREDICTED.measured[index]!;
    const hours = (20 * day.turnaround_mean_s) / 3_600;
    const expected = hours * busy.requests_per_hour + (24 - hours) * idle.requests_per_hour;
    t.ok(Math.abs(day.requests_per_day - expected) < 1, `${day.mode}: ${day.requests_per_day} and ${expected}`);
    t.ok(day.bytes_per_day > 100 * day.requests_per_day);
  }
  const [first, held] = PREDICTED.days;
  t.same(first!.saved_s_per_day, { mean: 0, low: 0, high: 0 }, 'nothing is saved against itself');
  const { mean, low, high } = held!.saved_s_per_day;
  t.ok(low < mean && mean < high);
  t.ok(Math.abs(mean / 20 - (first!.turnaround_mean_s - held!.turnaround_mean_s)) < 0.05);
  t.ok(mean / 20 > 5 && mean / 20 < 15, 'half a poll is saved with each run');
});

t.test('twice as many runs save and cost twice as much, and the same seed says the same', async (t) => {
  const twice = await predict({ ...SMALL, runsPerDay: 40 });
  const [once, more] = [PREDICTED.days[1]!, twice.days[1]!];
  t.ok(Math.abs(more.saved_s_per_day.mean - 2 * once.saved_s_per_day.mean) < 0.2);
  for (const [index, asking] of once.asking.entries()) {
    t.equal(more.asking[index]!.tokens_per_day, 2 * asking.tokens_per_day);
  }
  const again = await predict({ ...SMALL, threads: 2 });
  t.same({ ...again, wall_clock: null }, { ...PREDICTED, wall_clock: null });
  t.same(predictResultSchema.parse(JSON.parse(JSON.stringify(PREDICTED))), PREDICTED);
});

t.test('the sentence has the figures, also for the mode that the others are held against', async (t) => {
  const [sentence] = predictLines(PREDICTED);
  const held = PREDICTED.days[1]!;
  for (const word of ['long-poll', '20 runs a day', '80 ms', 'sooner than with plain-20s', 'MB', 'tokens a day']) {
    t.ok(sentence!.includes(word), word);
  }
  t.ok(sentence!.includes(`${Math.round(held.saved_s_per_day.mean)} s a day`));
  const alone = await predict({ ...SMALL, modes: [plain20s] });
  t.equal(alone.days.length, 1);
  t.match(predictLines(alone)[0], /With plain-20s, .* each run waits \d+\.\d s before it begins/);
  for (const lines of [predictLines(PREDICTED), predictLines(alone)]) t.notMatch(lines.join(), /NaN|undefined|-0/);
});

t.test("a run's length is one's own where it is given, and a day that is too short is refused", async (t) => {
  const short = await predict({ ...SMALL, runS: 2 });
  checkLength(t, short.days[1]!.turnaround_mean_s, 2);
  await t.rejects(predict({ ...SMALL, runS: 60, runsPerDay: 2_000 }), {
    code: 'day-too-short',
    message: /2000 runs a day take \d+ hours .* does 1\d{3} at most/,
  });
});

function checkLength(t: Test, turnaroundS: number, runS: number): void {
  t.ok(turnaroundS > runS && turnaroundS < runS + 0.3, `${turnaroundS} s`);
}
