import t from 'tap';
import { WAITING } from '../../bench/asking.ts';
import type { Fault } from '../../bench/faults/fault.ts';
import none from '../../bench/faults/none.ts';
import sleep from '../../bench/faults/sleep.ts';
import longPoll from '../../bench/modes/long-poll.ts';
import type { BenchMode } from '../../bench/modes/mode.ts';
import plain5s from '../../bench/modes/plain-5s.ts';
import plain20s from '../../bench/modes/plain-20s.ts';
import websocket from '../../bench/modes/websocket.ts';
import { summarize } from '../../bench/statistics.ts';
import { CONDITIONS } from '../../bench/virtual/bench-world.ts';
import { runTask, task } from '../../bench/virtual/pool.ts';
import type { RunRecord } from '../../bench/virtual/rounds.ts';
import cancel from '../../bench/workloads/cancel.ts';
import clientPolling from '../../bench/workloads/client-polling.ts';
import { fanout } from '../../bench/workloads/fanout.ts';
import offline from '../../bench/workloads/offline.ts';
import pickup from '../../bench/workloads/pickup.ts';
import type { Workload } from '../../bench/workloads/workload.ts';

interface Play {
  readonly mode: BenchMode;
  readonly workload: Workload;
  readonly rounds: number;
  readonly fault?: Fault;
  readonly metered?: boolean;
}

function play({ mode, workload, rounds, fault = none, metered = false }: Play) {
  const given = { seed: 1, mode, workload, fault, firstRound: 0, rounds, metered, weighsAnswers: true };
  return runTask(task('rounds', given));
}

function pickups(records: readonly RunRecord[]): number[] {
  return records.map(({ startedAt, queuedAt }) => startedAt! - queuedAt);
}

const WAYS = { least: 0.7 * CONDITIONS.way_ms, most: 1.3 * CONDITIONS.way_ms };
const ROUNDS = 200;

for (const [mode, tickMs] of [
  [plain20s, 20_000],
  [plain5s, 5_000],
] as const) {
  t.test(`polling waits half of its interval on average, and never longer than all of it (${mode.name})`, async (t) => {
    const { records } = await play({ mode, workload: pickup, rounds: ROUNDS });
    const { mean, max, min } = summarize(pickups(records))!;
    // Uniform: the deviation is the interval ÷ √12. Three ways come on top.
    const expected = tickMs / 2 + 3 * CONDITIONS.way_ms;
    t.ok(Math.abs(mean - expected) < (4 * tickMs) / Math.sqrt(12 * ROUNDS), `mean ${mean}`);
    t.ok(max < tickMs + 4 * WAYS.most, `max ${max}`);
    t.ok(min >= 2 * WAYS.least, `min ${min}`);
  });
}

for (const mode of [longPoll, websocket]) {
  t.test(`a held request starts a run within three ways (${mode.name})`, async (t) => {
    const { records } = await play({ mode, workload: pickup, rounds: 50 });
    for (const wait of pickups(records)) {
      t.ok(wait >= 3 * WAYS.least && wait <= 3 * WAYS.most + 2 * CONDITIONS.disk_ms, `${wait} ms`);
    }
  });
}

t.test('the same round asks for the same in each mode', async (t) => {
  const [polled, held] = [
    await play({ mode: plain20s, workload: fanout(3), rounds: 10 }),
    await play({ mode: longPoll, workload: fanout(3), rounds: 10 }),
  ];
  const lengths = ({ records }: typeof polled) =>
    records.map(({ endedAt, startedAt }) => (endedAt! - startedAt!).toFixed(3));
  t.equal(polled.records.length, 30);
  t.same(lengths(polled), lengths(held));
});

t.test('runs at once are serial with one slot, and are not with three', async (t) => {
  for (const slots of [1, 3]) {
    const { records } = await play({ mode: longPoll, workload: fanout(3, slots), rounds: 5 });
    for (let round = 0; round < 5; round++) {
      const runs = records.filter((record) => record.round === round);
      const overlaps = runs.some((a) =>
        runs.some((b) => a !== b && a.startedAt! < b.endedAt! && b.startedAt! < a.endedAt!),
      );
      t.equal(overlaps, slots > 1);
    }
  }
});

t.test('a client that asks each 15 s is late by half of that, and a waiting one by nothing', async (t) => {
  const { records } = await play({ mode: longPoll, workload: clientPolling, rounds: ROUNDS });
  const index = (name: string) => clientPolling.asking.findIndex((strategy) => strategy.name === name);
  const late = (name: string) => records.map(({ asked, knownAt }) => asked[index(name)]!.knewAt - knownAt);
  const polling = summarize(late('every 15 s'))!;
  t.ok(Math.abs(polling.mean - 7_500) < (4 * 15_000) / Math.sqrt(12 * ROUNDS), `mean ${polling.mean}`);
  t.ok(polling.max <= 15_000);
  for (const { asked, knownAt, queuedAt } of records) {
    // Each call and the second before it take 51 s, until the run has ended.
    t.equal(asked[index(WAITING.name)]!.calls, Math.floor((knownAt - queuedAt) / 51_000) + 1);
  }
  const waiting = summarize(late(WAITING.name))!;
  t.ok(waiting.max <= 1_000, 'at worst the run ends between two calls');
  t.ok(summarize(records.map(({ asked }) => asked[index(WAITING.name)]!.calls))!.mean <= 2.5);
  const spent = records.flatMap(({ asked }) => asked);
  t.ok(
    spent.every(({ calls, tokens }) => tokens.words > 30 * calls && tokens.words < 100 * calls),
    'an input and a sentence',
  );
  t.ok(
    spent.every(({ calls, tokens }) => tokens.all > tokens.words + 200 && tokens.all < 500 * calls),
    'the end in full',
  );
});

t.test(
  'a cancel of a running run takes one way and the stop with a held control, and up to a poll without',
  async (t) => {
    const stop = cancel.stop_s * 1_000;
    for (const [mode, most] of [
      [longPoll, 0],
      [plain20s, 3_000 + 2 * WAYS.most],
    ] as const) {
      const { records } = await play({ mode, workload: cancel, rounds: 60 });
      const running = records.filter((record) => record.cancel?.found === 'running');
      t.ok(running.length > 20);
      for (const { cancel: asked, knownAt, status } of running) {
        t.equal(status, 'cancelled');
        const after = knownAt - asked!.askedAt;
        t.ok(after >= stop + WAYS.least, `${after} ms`);
        t.ok(after <= stop + most + 2 * WAYS.most + 3 * CONDITIONS.disk_ms, `${after} ms`);
      }
      const queued = records.filter((record) => record.cancel?.found === 'queued');
      t.ok(queued.every(({ startedAt, status }) => startedAt === null && status === 'cancelled'));
      t.ok(queued.every(({ cancel: asked, knownAt }) => knownAt - asked!.askedAt <= CONDITIONS.disk_ms));
    }
  },
);

t.test('nothing starts while the desktop has no network, and everything is done afterwards', async (t) => {
  for (const mode of [plain20s, longPoll, websocket]) {
    const { records } = await play({ mode, workload: offline, rounds: 3 });
    t.equal(records.length, 15);
    for (const { startedAt, queuedAt, status } of records) {
      t.ok(startedAt! - queuedAt > offline.offline_s * 1_000);
      t.equal(status, 'completed');
    }
  }
});

t.test('a machine that sleeps starts nothing while it does', async (t) => {
  const { records } = await play({ mode: longPoll, workload: pickup, rounds: 40, fault: sleep });
  const slow = pickups(records).filter((wait) => wait > 1_000);
  t.ok(slow.length > 0, 'some run met the sleep');
  t.ok(Math.max(...slow) <= sleep.sleep.for_s * 1_000 + 20_000);
});

t.test('the whole stack and the short way to its handlers come to the same times', async (t) => {
  for (const mode of [plain20s, longPoll, websocket]) {
    const times = ({ records }: { records: readonly RunRecord[] }) =>
      records.map(({ queuedAt, startedAt, knownAt }) => [queuedAt, startedAt, knownAt].map((at) => at?.toFixed(6)));
    const direct = await play({ mode, workload: fanout(2), rounds: 4 });
    const full = await play({ mode, workload: fanout(2), rounds: 4, metered: true });
    t.same(times(full), times(direct), mode.name);
  }
});

t.test('an idle desktop costs what its mode says', async (t) => {
  const idle = (mode: BenchMode) => runTask(task('idle', { seed: 1, mode, fault: none, hours: 1 }));
  const [slow, quick, held, socket] = [
    await idle(plain20s),
    await idle(plain5s),
    await idle(longPoll),
    await idle(websocket),
  ];
  t.equal(slow!.requests_per_hour, 180);
  t.equal(quick!.requests_per_hour, 720);
  t.ok(held!.requests_per_hour > 180 && held!.requests_per_hour < 190, 'holds are a little shorter than polls');
  t.ok(slow!.held_mean < 0.01 && held!.held_mean > 0.99 && held!.held_most === 1);
  t.equal(socket!.held_mean, 1);
  t.ok(quick!.bytes_per_hour / slow!.bytes_per_hour > 3.9);
  t.ok(socket!.bytes_per_hour < held!.bytes_per_hour);
  t.ok(held!.wakeups_per_hour > held!.requests_per_hour);
});
