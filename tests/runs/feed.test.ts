/** Those who look on: nothing is lost between two calls, and whoever is too slow is told. */
import t from 'tap';
import type { FeedAnswer } from '../../desktop-agent/runs/run-feed.ts';
import { watch } from '../state/support.ts';
import { agentEvents, type HistoryWorld, historyWorld, log } from './support.ts';

const never = new AbortController().signal;

/** One call, as the local socket makes it; time passes as far as the call needs it. */
function ask(
  { desk, clock }: HistoryWorld,
  question: { command_id?: string; after?: number; wait_ms?: number },
): Promise<FeedAnswer> {
  return clock.settle(desk.events({ wait_ms: 0, ...question }, never));
}

function messages({ events }: FeedAnswer): string[] {
  return events.map(({ event }) => (event.type === 'log' ? event.message : event.type));
}

t.test('a reader that asks again with the last number hears each event once, in order', async (t) => {
  const world = await historyWorld({ answerEvents: 7 });
  const run = world.start();
  const heard: string[] = [];
  let after = 0;
  for (let n = 0; n < 60; n += 1) {
    run.emit(...Array.from({ length: n % 4 }, (_, each) => log(`${n}.${each}`)));
    if (n % 3 !== 0) continue;
    const answer = await ask(world, { command_id: run.commandId, after });
    t.equal(answer.missed, 0);
    heard.push(...messages(answer));
    after = answer.next;
  }
  run.end();
  for (let ended = false; !ended; ) {
    const answer = await ask(world, { command_id: run.commandId, after, wait_ms: 1_000 });
    heard.push(...messages(answer));
    after = answer.next;
    ended = answer.ended;
  }
  t.same(
    heard,
    run.heard.map((event) => (event.type === 'log' ? event.message : '')),
  );
});

t.test('a question is held until something happens, and answered empty when its time is over', async (t) => {
  const world = await historyWorld();
  const run = world.start();
  const held = world.desk.events({ command_id: run.commandId, after: 0, wait_ms: 20_000 }, never);
  const state = watch(held);
  await world.clock.advance(19_000);
  t.equal(state.settled, 'pending');
  run.emit(log('news'));
  await world.clock.advance(0);
  t.equal(state.settled, 'resolved');
  t.same(messages(await held), ['news']);

  const empty = await ask(world, { command_id: run.commandId, after: 1, wait_ms: 20_000 });
  t.match(empty, { events: [], next: 1, missed: 0, ended: false });
  t.ok(world.clock.monotonic() >= 39_000);

  const end = world.desk.events({ command_id: run.commandId, after: 1, wait_ms: 20_000 }, never);
  run.end();
  t.match(await world.clock.settle(end), { events: [], ended: true }, 'the end is news too');
});

t.test(
  'a reader of all runs hears them in the order in which things happened, from now on or from the start',
  async (t) => {
    const world = await historyWorld();
    const one = world.start();
    one.emit(log('before anybody looked'));
    const now = await ask(world, {});
    t.match(now, { events: [], next: 1 });
    const two = world.start();
    two.emit(log('second'));
    one.emit(log('third'));
    const since = await ask(world, { after: now.next });
    t.same(messages(since), ['second', 'third']);
    t.same(
      since.events.map(({ command_id, seq, n }) => [command_id, seq, n]),
      [
        [two.commandId, 2, 1],
        [one.commandId, 3, 2],
      ],
    );
    t.equal((await ask(world, { after: 0 })).events.length, 3);
    t.same(messages(await ask(world, { command_id: two.commandId, after: 0 })), ['second'], 'its own channel');
  },
);

t.test('a slow reader is told how many events are gone, and goes on with what is kept', async (t) => {
  const world = await historyWorld({ liveEvents: 10 });
  const run = world.start();
  for (let n = 1; n <= 25; n += 1) run.emit(log(String(n)));
  const late = await ask(world, { command_id: run.commandId, after: 3 });
  t.equal(late.missed, 12);
  t.same([late.events[0]?.seq, late.events.length, late.next], [16, 10, 25]);
  t.match(await ask(world, { after: 3 }), { missed: 12 });
  t.match(await ask(world, { command_id: run.commandId, after: 15 }), { missed: 0 });
});

t.test('what is kept for readers is bounded in characters, and long texts are cut for them only', async (t) => {
  const world = await historyWorld({ liveChars: 5_000, liveTextChars: 1_000 });
  const run = world.start();
  run.emit(...agentEvents(1, 'p'.repeat(3_000), 'a'.repeat(3_000)));
  for (let n = 0; n < 20; n += 1) run.emit(log(String(n).repeat(200)));
  const { events, missed } = await ask(world, { command_id: run.commandId, after: 0 });
  t.ok(JSON.stringify(events).length < 6_000);
  t.equal(missed + events.length, 22);
  run.end();
  await world.written();
  const [asked] = (await world.recordOf(run)).events;
  t.match(asked, { event: { prompt: 'p'.repeat(3_000) } }, 'the record has it whole');
});

t.test('the events of a run that is over come from its record when nobody keeps them any more', async (t) => {
  const world = await historyWorld({ endedChannels: 1, answerEvents: 2 });
  const run = await world.play(['a', 'b', 'c'].map(log));
  await world.play();
  const first = await world.desk.events({ command_id: run.commandId, after: 0, wait_ms: 9_000 }, never);
  t.same(messages(first), ['a', 'b']);
  t.match(first, { next: 2, ended: false });
  const rest = await world.desk.events({ command_id: run.commandId, after: 2, wait_ms: 9_000 }, never);
  t.same(messages(rest), ['c']);
  t.match(rest, { next: 3, ended: true });
});

t.test('only whole ids of runs are channels', async (t) => {
  const world = await historyWorld();
  const run = world.start();
  for (const command_id of [run.commandId.slice(0, 8), 'last', '', `{${run.commandId}}`, '__proto__']) {
    await t.rejects(world.desk.events({ command_id, wait_ms: 0 }, never), /expected a UUID/);
  }
  const upper = run.commandId.toUpperCase();
  run.emit(log('heard'));
  t.same(messages(await ask(world, { command_id: upper, after: 0 })), ['heard'], 'in any case');
  const unknown = '00000000-0000-4000-8000-00000000dead';
  await t.rejects(world.desk.events({ command_id: unknown, wait_ms: 0 }, never), { code: 'unknown-command' });
});

t.test('readers that wait are bounded, and one that goes away makes room', async (t) => {
  const world = await historyWorld({ heldReaders: 2 });
  const gone = new AbortController();
  const first = world.desk.events({ after: 0, wait_ms: 20_000 }, gone.signal);
  const second = watch(world.desk.events({ after: 0, wait_ms: 20_000 }, never));
  await t.rejects(world.desk.events({ after: 0, wait_ms: 20_000 }, never), { code: 'too-many-held' });
  gone.abort();
  t.match(await first, { events: [] });
  const third = watch(world.desk.events({ after: 0, wait_ms: 20_000 }, never));
  await world.clock.advance(1);
  t.same([second.settled, third.settled], ['pending', 'pending']);
  world.start().emit(log('both hear it'));
  await world.clock.advance(1);
  t.same([second.settled, third.settled], ['resolved', 'resolved']);
});

t.test('a run of another process that lives goes on, and is ended there', async (t) => {
  const world = await historyWorld();
  const run = world.start();
  run.emit(...agentEvents(1, 'ask', 'answer'), {
    type: 'approval_asked',
    approval: 'a1',
    call: 1,
    tool: 'x.y',
    input: 1,
  });
  await world.written();
  const other = await historyWorld({}, world);
  t.match(await other.desk.list(5), [
    { command_id: run.commandId, status: 'awaiting_approval', waits_for: 'x.y', total_tokens: 7, error: null },
  ]);
  await t.rejects(other.desk.cancel('last'), { code: 'execution-refused', message: /goes on in another process/ });
});
