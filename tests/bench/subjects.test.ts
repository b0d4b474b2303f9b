/** What is measured with: waits that end, instants that processes can compare, rounds that take turns. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { type Measured, measureRounds, nameOf } from '../../bench/peers/rounds.ts';
import { Arrivals } from '../../bench/pickup/arrivals.ts';
import { startFloor } from '../../bench/pickup/floor.ts';
import { startRelay } from '../../bench/pickup/relay.ts';
import { stampUs } from '../../bench/pickup/stamp.ts';
import { PAYLOAD_BYTES, payloadOf, type Subject } from '../../bench/pickup/subject.ts';
import { startWorker } from '../../bench/pickup/worker.ts';
import { systemIds } from '../../protocol/host/system-ports.ts';
import { expectProcesses, tempFolder } from '../process/support.ts';

expectProcesses(t);

t.test('what arrives before somebody waits for it is kept, and a failure ends all waits', async (t) => {
  const arrivals = new Arrivals<number>();
  arrivals.arrived('early', 0);
  t.equal(await arrivals.wait('early'), 0);
  const late = arrivals.wait('late');
  arrivals.arrived('late', 2);
  t.equal(await late, 2);
  const never = arrivals.wait('never');
  arrivals.fail(new Error('gone'));
  await t.rejects(never, { message: 'gone' });
  await t.rejects(arrivals.wait('afterwards'), { message: 'gone' });
});

t.test('every payload has the same size', async (t) => {
  for (const report of [true, false]) {
    t.equal(JSON.stringify(payloadOf({ id: systemIds.uuid(), report })).length, PAYLOAD_BYTES);
  }
});

t.test(
  'a process that ends is told with what it said last, to those who wait and to those who come later',
  async (t) => {
    const module = join(await tempFolder(t), 'dying.mjs');
    await writeFile(
      module,
      `process.send({ ready: {} }, () => {
       process.stderr.write('out of ink', () => process.exit(3));
     });`,
    );
    const worker = await startWorker('printer', pathToFileURL(module), []);
    const gone = new Promise<Error>((done) => worker.onGone(done));
    const expected = { message: 'The process "printer" ended (exit code 3): out of ink' };
    await t.rejects(worker.picks.wait('a job'), expected);
    t.match(await gone, expected);
    await worker.stop();
  },
);

const OURS: readonly [string, () => Promise<Subject>][] = [
  ['the floor', startFloor],
  ['ours over a held request', () => startRelay('long-poll', 2)],
  ['ours over a WebSocket', () => startRelay('websocket', 2)],
];

async function started(t: Test, start: () => Promise<Subject>): Promise<Subject> {
  const subject = await start();
  t.teardown(() => subject.stop());
  return subject;
}

for (const [name, start] of OURS) {
  t.test(`${name}: the call comes before the pickup, and the pickup before the result`, async (t) => {
    const subject = await started(t, start);
    for (let run = 0; run < 3; run++) {
      const id = systemIds.uuid();
      const done = subject.done(id);
      const calledUs = stampUs();
      await subject.enqueue({ id, report: true });
      const pickedUs = await subject.picked(id);
      const doneUs = await done;
      t.ok(calledUs < pickedUs && pickedUs < doneUs && doneUs <= stampUs(), `${calledUs} ${pickedUs} ${doneUs}`);
    }
  });
}

const UNHURRIED = { signal: new AbortController().signal, onStep() {} };
const TINY = { runs: 2, busyMs: 20, seed: 7 };

/** A subject that answers at once, and breaks at this call. */
function scripted(name: string, breaksAt = Number.POSITIVE_INFINITY): Subject {
  let calls = 0;
  return {
    name,
    setting: 'scripted',
    durable: false,
    versions: {},
    resultBy: 'nothing',
    async enqueue() {
      calls += 1;
      if (calls >= breaksAt) throw new Error('broken on purpose');
    },
    picked: async () => stampUs(),
    done: async () => stampUs(),
    async stop() {},
  };
}

function samplesOf({ rounds }: Measured): number[] {
  return rounds.flatMap(({ pickups, roundTripsUs, runsPerSecond }) => [
    ...pickups.flatMap(({ ackUs, pickupUs }) => [ackUs, pickupUs]),
    ...roundTripsUs,
    runsPerSecond.alone,
    runsPerSecond.atOnce,
  ]);
}

t.test('every round asks every subject, in an order that the seed draws anew', async (t) => {
  const subjects = ['a', 'b', 'c', 'd'].map((name) => scripted(name));
  const plan = { ...TINY, busyMs: 1, rounds: 4 };
  const { order, measured } = await measureRounds(subjects, plan, UNHURRIED);
  t.equal(order.length, 4);
  for (const round of order) t.same([...round].sort(), subjects.map(nameOf), 'nobody is left out or asked twice');
  t.ok(new Set(order.map(String)).size > 1, `the order changes: ${order.join(' | ')}`);
  for (const { rounds } of measured) t.equal(rounds.length, 4, 'the round that warms up does not count');
  const again = await measureRounds(subjects, plan, UNHURRIED);
  t.same(again.order, order, 'the same seed, the same order');
});

t.test('the floor and ours are measured in turns, and every figure is positive', async (t) => {
  const subjects = [await started(t, startFloor), await started(t, () => startRelay('long-poll', 32))];
  const { order, measured } = await measureRounds(subjects, { ...TINY, rounds: 2 }, UNHURRIED);
  t.equal(order.length, 2);
  for (const round of order) t.equal(round.length, 2);
  for (const each of measured) {
    t.equal(each.broken, null);
    const samples = samplesOf(each);
    t.equal(samples.length, 2 * (2 * 2 + 2 + 2));
    t.ok(
      samples.every((sample) => sample > 0 && Number.isFinite(sample)),
      `${nameOf(each.subject)}: ${samples}`,
    );
  }
});

t.test('a subject that breaks is left out with its reason, and the others go on', async (t) => {
  const subjects = [scripted('good'), scripted('bad', 5)];
  const { order, measured } = await measureRounds(subjects, { ...TINY, rounds: 3 }, UNHURRIED);
  t.match(
    measured.map(({ broken, rounds }) => ({ broken, rounds: rounds.length })),
    [
      { broken: null, rounds: 3 },
      { broken: 'broken on purpose', rounds: 0 },
    ],
  );
  t.same(order, [['good (scripted)'], ['good (scripted)'], ['good (scripted)']]);
});

t.test('a measurement that is called off ends, though a subject never answers', async (t) => {
  const silent: Subject = { ...scripted('silent'), done: () => new Promise(() => {}) };
  const stop = new AbortController();
  const watch = { signal: stop.signal, onStep: () => setImmediate(() => stop.abort(new Error('called off'))) };
  await t.rejects(measureRounds([silent], { ...TINY, rounds: 1 }, watch), { message: 'called off' });
});
