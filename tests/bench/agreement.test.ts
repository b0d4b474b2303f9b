import t from 'tap';
import { type JudgedCell, judge, machineError, TRIPS, verdictOf } from '../../bench/live/agreement.ts';
import { beginAfterMs } from '../../bench/live/play.ts';
import type { Figure } from '../../bench/live/result.ts';
import longPoll from '../../bench/modes/long-poll.ts';
import plain20s from '../../bench/modes/plain-20s.ts';
import { seededRandom } from '../../bench/sim/seeded.ts';
import { SETTLE_MS } from '../../bench/virtual/bench-world.ts';
import { drawRound } from '../../bench/virtual/rounds.ts';
import pickup from '../../bench/workloads/pickup.ts';
import shortRuns from '../../bench/workloads/short-runs.ts';

const MACHINE = machineError({ exchange_p99_ms: 4, append_p99_ms: 6, own_ms: 5 });
const SEED = 3;

/** Pickups of a system that polls each 20 s. */
const random = seededRandom(11);
const POLLED = Array.from({ length: 100 }, () => 20_000 * random.next());

function cellOf(samples: JudgedCell['samples'], perRound = 1): JudgedCell {
  const runs = Object.values(samples.virtual)[0]!.length;
  return { mode: 'a mode', rounds: runs / perRound, runs, machine: MACHINE, samples };
}

function firstPickups(real: readonly (number | null)[], virtual: readonly (number | null)[] = POLLED): Figure[] {
  const samples = { virtual: { 'first pickup': [...virtual] }, real: { 'first pickup': [...real] } };
  return judge(cellOf(samples), { workload: pickup, seed: SEED });
}

const verdicts = (figures: readonly Figure[]) => figures.map(({ verdict }) => verdict);

t.test('the machine may add two exchanges and two writes at their worst, and a pickup', async (t) => {
  t.same(TRIPS, { exchanges: 2, appends: 2 });
  t.equal(MACHINE.total_ms, 2 * 4 + 2 * 6 + 5);
});

t.test('twins that are equal, or apart by less than the machine adds, agree', async (t) => {
  for (const delay of [0, 24.9, -24.9]) {
    const figures = firstPickups(POLLED.map((ms) => ms + delay));
    t.same(verdicts(figures), ['PASS', 'PASS', 'PASS']);
    t.same(
      figures.map(({ statistic }) => statistic),
      ['mean', 'median', 'p95'],
    );
    for (const { n, error, real, virtual } of figures) {
      t.equal(n, 100);
      t.equal(error.machine, MACHINE.total_ms);
      t.ok(error.chance < 1e-6, 'all are equally late, and chance has no part in it');
      t.ok(Math.abs(real! - virtual! - delay) < 1e-6);
    }
    t.equal(verdictOf([{ figures }]), 'PASS');
  }
});

t.test('twins that are apart by a little more than the machine adds do not', async (t) => {
  for (const delay of [25.1, -25.1]) {
    const figures = firstPickups(POLLED.map((ms) => ms + delay));
    t.same(verdicts(figures), ['FAIL', 'FAIL', 'FAIL']);
    t.equal(verdictOf([{ figures: [] }, { figures }]), 'FAIL');
  }
});

t.test('one that just misses its tick is chance; when every fourth one does, it is not', async (t) => {
  const missed = (each: number) => POLLED.map((ms, run) => (run % each === 0 ? ms + 20_000 : ms));
  const [one] = firstPickups(missed(100));
  t.equal(one!.verdict, 'PASS');
  t.ok(
    one!.error.chance > 200 && one!.error.chance < 1_600,
    `4 standard errors are about 800 ms: ${one!.error.chance}`,
  );
  const [many] = firstPickups(missed(4));
  t.equal(many!.verdict, 'FAIL');
});

t.test('another system fails, though its mean is the same', async (t) => {
  const mean = POLLED.reduce((sum, ms) => sum + ms, 0) / POLLED.length;
  const figures = firstPickups(POLLED.map(() => mean));
  t.equal(figures.find(({ statistic }) => statistic === 'p95')!.verdict, 'FAIL');
});

t.test('what only one side has fails, and what neither has is not judged', async (t) => {
  const none = POLLED.map(() => null);
  t.same(verdicts(firstPickups(none)), ['FAIL', 'FAIL', 'FAIL']);
  t.same(verdicts(firstPickups(POLLED, none)), ['FAIL', 'FAIL', 'FAIL']);
  t.same(firstPickups(none, none), []);
});

t.test('one run that does not complete fails, where nobody cancels', async (t) => {
  const all = POLLED.map(() => 1);
  const samples = { virtual: { completed: all }, real: { completed: all.with(7, 0) } };
  t.same(verdicts(judge(cellOf(samples), { workload: pickup, seed: SEED })), ['FAIL']);
  const cancelling = { ...pickup, cancel: { share: 0.5, after_s: 1 } };
  t.same(verdicts(judge(cellOf(samples), { workload: cancelling, seed: SEED })), ['PASS']);
});

t.test('one who stands in line has the delays of those before', async (t) => {
  const late = (ms: number) => {
    const samples = { virtual: { pickup: POLLED }, real: { pickup: POLLED.map((each) => each + ms) } };
    return judge(cellOf(samples, 2), { workload: shortRuns, seed: SEED });
  };
  const [mean, p95] = late(0);
  t.equal(mean!.error.machine, 1.5 * MACHINE.total_ms);
  t.equal(p95!.error.machine, 2 * MACHINE.total_ms);
});

t.test('a delay is as many calls as fit into it', async (t) => {
  const calls = POLLED.map(() => 2);
  const name = 'calls: wait_seconds 50';
  const judged = (more: number) => {
    const samples = { virtual: { [name]: calls }, real: { [name]: calls.map((count) => count + more) } };
    return judge(cellOf(samples), { workload: pickup, seed: SEED })[0]!;
  };
  t.equal(judged(0).error.machine, MACHINE.total_ms / 1_000);
  t.equal(judged(0).verdict, 'PASS');
  t.equal(judged(1).verdict, 'FAIL');
});

t.test(
  'a real round begins as far from a tick as its virtual twin, and when all desktops have connected',
  async (t) => {
    const spreads = { desktopsMs: 3_000, roundsMs: 20_000 };
    for (let round = 0; round < 50; round++) {
      const { gapMs } = drawRound({ workload: shortRuns, seed: SEED }, round);
      for (const mode of [plain20s, longPoll]) {
        const afterMs = beginAfterMs(mode, gapMs, spreads);
        t.ok(afterMs >= 5_000 && afterMs < 25_000, `${afterMs}`);
        const ticks = (SETTLE_MS + gapMs - afterMs) / 20_000;
        t.ok(Math.abs(ticks - Math.round(ticks)) < 1e-9, `round ${round}`);
      }
    }
  },
);
