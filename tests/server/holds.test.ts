/** Held requests: each ends once, and cleaning one up never touches another. */
import t from 'tap';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { Hold, HoldRegistry } from '../../server/holds.ts';
import { connectedSite, offeredIds, queue } from './support.ts';

function setUp(holdMs = 1_000) {
  const clock = new VirtualClock();
  const caller = new AbortController();
  const make = () => new Hold<string>({ clock, holdMs, signal: caller.signal, empty: () => 'empty' });
  return { clock, caller, make, hold: make() };
}

t.test('a hold ends empty when its time is over', async (t) => {
  const { clock, hold } = setUp();
  t.equal(await clock.settle(hold.answer), 'empty');
  t.equal(clock.monotonic(), 1_000);
  t.equal(hold.end, 'time-over');
  t.equal(hold.open, false);
});

const REASONS: Readonly<Record<string, (given: ReturnType<typeof setUp>) => unknown>> = {
  answered: ({ hold }) => hold.answerWith('news'),
  released: ({ hold }) => hold.release(),
  failed: ({ hold }) => hold.fail(new Error('replaced')),
  'caller-gone': ({ caller }) => caller.abort(),
  'time-over': ({ clock }) => clock.advance(1_000),
};

for (const [first, endFirst] of Object.entries(REASONS)) {
  t.test(`a hold that was ${first} ends for no other reason later`, async (t) => {
    const given = setUp();
    const { hold, clock } = given;
    const outcome = hold.answer.then(
      (answer) => answer,
      (error: Error) => error.message,
    );
    t.equal(hold.open, true);
    await endFirst(given);
    const end = hold.end;
    t.equal(hold.open, false);
    t.not(end, null);
    const settled = await outcome;
    const events = clock.events;
    t.equal(hold.answerWith('late'), false, 'a late answer is not delivered, and its giver is told');
    t.equal(hold.release(), false);
    t.equal(hold.fail(new Error('late')), false);
    given.caller.abort();
    await clock.advance(5_000);
    t.equal(hold.end, end);
    t.equal(await outcome, settled);
    t.equal(clock.events, events, 'its timer is gone');
  });
}

t.test('a caller that had gone before the hold began gets nothing put into its hold', async (t) => {
  const { caller, make } = setUp();
  caller.abort();
  const hold = make();
  t.equal(hold.end, 'caller-gone');
  t.equal(hold.answerWith('news'), false);
  t.equal(await hold.answer, 'empty');
});

t.test(
  'a newer hold under the same key ends the older one empty, and stays when that is cleaned up (C20)',
  async (t) => {
    const { make, hold: older } = setUp();
    const registry = new HoldRegistry<string>();
    registry.put('desktop', older);
    const newer = make();
    registry.put('desktop', newer);
    t.equal(await older.answer, 'empty');
    t.equal(older.end, 'answered');
    t.equal(registry.get('desktop'), newer);
    t.equal(registry.size, 1);
    t.same([...registry.open()], [['desktop', newer]]);
  },
);

t.test('an ended hold is neither found nor kept', async (t) => {
  const { make, hold, clock } = setUp();
  const registry = new HoldRegistry<string>();
  hold.release();
  registry.put('a', hold);
  t.equal(registry.size, 0);
  const second = make();
  registry.put('a', second);
  second.answerWith('news');
  t.equal(registry.get('a'), null, 'in the same turn already');
  t.same([...registry.open()], []);
  await second.answer;
  await clock.advance(0);
  t.equal(registry.size, 0);
});

t.test('a hold that failed leaves the registry too', async (t) => {
  const { make, clock } = setUp();
  const registry = new HoldRegistry<string>();
  const hold = make();
  registry.put('a', hold);
  hold.fail(new Error('replaced'));
  await t.rejects(hold.answer, { message: 'replaced' });
  await clock.advance(0);
  t.equal(registry.size, 0);
});

t.test('holds under different keys do not know each other, whatever the keys are called (C121)', async (t) => {
  const { make } = setUp();
  const registry = new HoldRegistry<string>();
  for (const key of ['__proto__', 'constructor', 'toString']) {
    t.equal(registry.get(key), null);
    const hold = make();
    registry.put(key, hold);
    t.equal(registry.get(key), hold);
  }
  t.equal(registry.size, 3);
});

for (const firstPoll of ['stays open', 'is aborted'] as const) {
  t.test(`a job goes out on the second poll at once when the first one ${firstPoll} (C20)`, async (t) => {
    const { site, agent, desk } = await connectedSite();
    const abort = new AbortController();
    const first = await desk.hold({}, abort.signal);
    await site.clock.advance(5_000);
    if (firstPoll === 'is aborted') abort.abort();
    const second = await desk.hold();
    t.same(offeredIds(first.value), [], 'the first poll has ended, empty');
    await site.clock.advance(16_000);
    t.equal(second.value, null, 'the second poll is still held when the first one would have been over');
    const { command_id } = await queue(site, agent);
    t.same(offeredIds(second.value), [command_id]);
  });
}
