/** One key, one run: repeats, conflicts, scopes, restarts; and the bound of a desktop's queue. */
import t from 'tap';
import { QUEUED_PER_DESKTOP } from '../../protocol/limits.ts';
import {
  cancel,
  connectedSite,
  newAgent,
  newDesk,
  OTHER_SESSION,
  offeredIds,
  PROJECT,
  queue,
  restarted,
  runRequest,
  session,
  startedRun,
} from './support.ts';

const KEY = 'the-same-key';

t.test('a hundred calls at once with one key make one run', async (t) => {
  const { site, agent } = await connectedSite({ syncDelayMs: 5 });
  const calls = Array.from({ length: 100 }, () =>
    site.relay.agents.runSession(agent, runRequest({ idempotency_key: KEY })),
  );
  const tickets = await site.clock.settle(Promise.all(calls));
  t.equal(new Set(tickets.map(({ command_id }) => command_id)).size, 1);
  t.equal(tickets.filter(({ replayed }) => !replayed).length, 1, 'one of them is new');
  t.equal(site.store.rows('command').size, 1);
});

t.test('the same key with other arguments or another session is refused, and starts nothing (C131)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const sessions = [session(), session({ graph_session_id: OTHER_SESSION })];
  await desk.sync({ capacity: 0, projects: [{ project_id: PROJECT, sessions }] });
  const first = await queue(site, agent, { idempotency_key: KEY, arguments: { a: 1 } });
  const others = [
    { arguments: { a: 2 } },
    { arguments: { a: '1' } },
    { arguments: {} },
    { arguments: { a: 1, b: null } },
    { arguments: { a: 1 }, graph_session_id: OTHER_SESSION },
  ];
  for (const changes of others) {
    await t.rejects(
      queue(site, agent, { idempotency_key: KEY, ...changes }),
      { message: new RegExp(`used before for another run \\(${first.command_id}\\), so nothing was started`) },
      JSON.stringify(changes),
    );
  }
  t.equal(site.store.rows('command').size, 1);
});

t.test('the order of keys in the arguments makes no difference (C131)', async (t) => {
  const { site, agent } = await connectedSite();
  const one = await queue(site, agent, { idempotency_key: KEY, arguments: { a: 1, b: { c: 2, d: [3] } } });
  const two = await queue(site, agent, { idempotency_key: KEY, arguments: { b: { d: [3], c: 2 }, a: 1 } });
  t.equal(two.command_id, one.command_id);
  t.equal(two.replayed, true);
});

t.test("another agent's same key is another run", async (t) => {
  const { site, agent } = await connectedSite();
  const { agent: other } = await newAgent(site, 'other');
  const one = await queue(site, agent, { idempotency_key: KEY });
  const two = await queue(site, other, { idempotency_key: KEY, arguments: { quite: 'different' } });
  t.not(one.command_id, two.command_id);
  t.equal(two.replayed, false);
});

t.test('agent and key never run together into one name, whatever they hold (C130)', async (t) => {
  const { site, agent } = await connectedSite();
  const ids = new Set<string>();
  const pairs = [
    ['a:b', 'c-------'],
    ['a', 'b:c-------'],
    ['a:b:c', '-------'],
    ['__proto__', 'constructor'],
    ['constructor', '__proto__'],
    ['a\0b', 'key/with/slashes'],
    ['a', 'b\0key/with/slashes'],
  ] as const;
  for (const [agentId, idempotency_key] of pairs) {
    const ticket = await queue(site, { ...agent, agentId }, { idempotency_key });
    t.equal(ticket.replayed, false, JSON.stringify([agentId, idempotency_key]));
    ids.add(ticket.command_id);
  }
  t.equal(ids.size, pairs.length);
});

t.test('a key is compared exactly (C125)', async (t) => {
  const { site, agent } = await connectedSite();
  const ids = new Set<string>();
  for (const idempotency_key of ['same-key-1', 'SAME-KEY-1', ' same-key-1', 'same-key-1 ', 'same\u2010key\u20101']) {
    ids.add((await queue(site, agent, { idempotency_key })).command_id);
  }
  t.equal(ids.size, 5);
});

t.test('the key gives the same ticket after the run has ended, in each way that it can end (C127)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  for (const status of ['completed', 'failed', 'cancelled'] as const) {
    const request = runRequest();
    const ticket = await site.clock.settle(site.relay.agents.runSession(agent, request));
    await desk.sync();
    if (status === 'cancelled') await cancel(site, agent, ticket.command_id);
    await desk.control(ticket.command_id);
    await desk.complete(ticket.command_id, { status, ...(status === 'completed' ? { result: 4 } : {}) });
    const again = await site.clock.settle(site.relay.agents.runSession(agent, request));
    t.match(again, { command_id: ticket.command_id, status, replayed: true });
    t.same(offeredIds(await desk.sync()), [], 'nothing runs again');
  }
});

t.test('a key is remembered over a kill of the relay', async (t) => {
  const { site, agent } = await connectedSite();
  const request = runRequest({ arguments: { a: 1 } });
  const ticket = await site.clock.settle(site.relay.agents.runSession(agent, request));
  const after = restarted(site);
  const again = await after.clock.settle(after.relay.agents.runSession(agent, request));
  t.match(again, { command_id: ticket.command_id, replayed: true });
  const conflict = after.relay.agents.runSession(agent, { ...request, arguments: { a: 2 } });
  await t.rejects(after.clock.settle(conflict), { message: /used before for another run/ });
});

t.test('a repeat gives the ticket even when the session is not shared any more', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const request = runRequest();
  const ticket = await site.clock.settle(site.relay.agents.runSession(agent, request));
  await desk.sync({ projects: [] });
  const again = await site.clock.settle(site.relay.agents.runSession(agent, request));
  t.match(again, { command_id: ticket.command_id, status: 'cancelled', replayed: true });
});

t.test('a ticket goes out only when a kill cannot take the run back', async (t) => {
  const { site, agent } = await connectedSite({ syncDelayMs: 40 });
  const before = site.clock.monotonic();
  const ticket = await queue(site, agent);
  t.equal(site.clock.monotonic() - before, 40);
  t.ok(restarted(site).store.rows('command').has(ticket.command_id));
});

t.test('the queue of a desktop is bounded, and says what to do (C63)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const running = await startedRun({ site, agent, desk });
  const tickets = [];
  for (let index = 0; index < QUEUED_PER_DESKTOP; index++) tickets.push(await queue(site, agent));
  t.equal(tickets.at(-1)?.ahead, QUEUED_PER_DESKTOP - 1);
  const full = { code: 'queue-full', message: /100 runs are waiting.*cancel_graph_run/ };
  await t.rejects(queue(site, agent), full);
  const replay = runRequest({ idempotency_key: 'first-refused' });
  await t.rejects(site.relay.agents.runSession(agent, replay), full, 'a refused key is not used up');
  t.equal(site.store.rows('command').size, QUEUED_PER_DESKTOP + 1);
  await cancel(site, agent, tickets[50]!.command_id);
  const taken = await site.clock.settle(site.relay.agents.runSession(agent, replay));
  t.match(taken, { replayed: false, ahead: QUEUED_PER_DESKTOP - 1 });
  t.ok(running);
});

t.test('the full queue of one desktop is nothing to another (C63)', async (t) => {
  const { site, agent } = await connectedSite();
  const other = await newDesk(site, 'second');
  const sessions = [session({ graph_session_id: OTHER_SESSION })];
  await other.sync({ projects: [{ project_id: PROJECT, sessions }] });
  for (let index = 0; index < QUEUED_PER_DESKTOP; index++) await queue(site, agent);
  t.equal((await queue(site, agent, { graph_session_id: OTHER_SESSION })).ahead, 0);
});

t.test('a place in the queue counts what waits before it, and is gone once the run has begun', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const first = await queue(site, agent);
  const second = await queue(site, agent);
  const third = await queue(site, agent);
  t.same([first.ahead, second.ahead, third.ahead], [0, 1, 2]);
  await desk.sync();
  await desk.control(first.command_id);
  const places = [];
  for (const { command_id } of [first, second, third]) {
    const view = site.relay.agents.getRun(agent, { command_id, waitMs: 0, signal: new AbortController().signal });
    places.push((await site.clock.settle(view)).ahead);
  }
  t.same(places, [null, 0, 1]);
});

t.test('arguments that are too long are refused before anything is queued', async (t) => {
  const { site, agent } = await connectedSite();
  await queue(site, agent, { arguments: { a: 'x'.repeat(64_000 - '{"a":""}'.length) } });
  await t.rejects(queue(site, agent, { arguments: { a: 'x'.repeat(64_000) } }), { message: /longer than 64000/ });
  t.equal(site.store.rows('command').size, 1);
});
