/** How commands reach their desktop: an offer is nothing until the desktop says that it has it. */
import t from 'tap';
import { HOLD_MARGIN_MS, OFFER_TIMEOUT_MS } from '../../protocol/limits.ts';
import {
  connectedSite,
  HOLD_MS,
  newDesk,
  OTHER_SESSION,
  offeredIds,
  queue,
  read,
  rowOf,
  session,
  startedRun,
} from './support.ts';

t.test('a queued command goes into the held sync in the turn in which it is queued', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const held = await desk.hold();
  await site.clock.advance(3_000);
  const before = site.clock.monotonic();
  const { command_id } = await queue(site, agent, { arguments: { city: 'Köln' } });
  t.same(offeredIds(held.value), [command_id]);
  t.equal(site.clock.monotonic(), before, 'no timer was waited for');
  t.match(held.value?.data?.commands[0], { slug: 'hello', arguments: { city: 'Köln' }, project_id: 'home' });
  t.match(held.value?.data, { epoch: 1, hold_granted_ms: HOLD_MS, next_sync_ms: 0 });
});

t.test('an empty hold ends a margin before what was granted, with an empty answer (C02)', async (t) => {
  const { site, desk } = await connectedSite();
  const held = await desk.hold();
  await site.clock.advance(HOLD_MS - HOLD_MARGIN_MS - 1);
  t.equal(held.value, null);
  await site.clock.advance(1);
  t.equal(held.value?.status, 200);
  t.same(offeredIds(held.value), []);
});

t.test('a hold longer than the limit is cut to it, and a sync without a hold is answered at once', async (t) => {
  const { site, desk } = await connectedSite();
  const held = await desk.hold({ hold_ms: 3_600_000 });
  await site.clock.advance(HOLD_MS);
  t.equal(held.value?.data?.hold_granted_ms, HOLD_MS);
  const plain = await desk.sync();
  t.match(plain.data, { hold_granted_ms: 0, next_sync_ms: 20_000, commands: [] });
});

t.test('an offer that was lost on the way goes into the very next answer (C22)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  t.same(offeredIds(await desk.sync()), [command_id]);
  const again = await desk.sync({ holding: [] });
  t.same(offeredIds(again), [command_id]);
  t.equal(rowOf(site, command_id).offers, 2);
});

t.test('a command that the desktop holds is not offered again', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  await desk.sync();
  t.same(offeredIds(await desk.sync({ holding: [command_id.toUpperCase()] })), []);
  await site.clock.advance(3 * OFFER_TIMEOUT_MS);
  t.equal(rowOf(site, command_id).status, 'offered', 'no timeout takes it from a desktop that has it');
  t.same(offeredIds(await desk.sync({ holding: [] })), [command_id], 'until the desktop does not have it any more');
});

t.test('the offer of a desktop that stays silent is back in the queue after ten seconds', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  await desk.sync();
  await site.clock.advance(OFFER_TIMEOUT_MS - 1);
  t.equal(rowOf(site, command_id).status, 'offered');
  t.equal((await read(site, agent, command_id)).status, 'queued', 'callers see it as queued all the time');
  await site.clock.advance(1);
  t.equal(rowOf(site, command_id).status, 'queued');
});

t.test('an offer that came back goes into the sync that is held then', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  await desk.sync();
  await site.clock.advance(2_000);
  // This sync says that it has the command, and then that is not true any more.
  const held = await desk.hold({ holding: [command_id] });
  await site.clock.advance(1_000);
  const next = await desk.hold({ holding: [] });
  t.same(offeredIds(held.value), []);
  t.same(offeredIds(next.value), [command_id]);
});

t.test('a caller that went away during its hold takes no command with it (C22)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const abort = new AbortController();
  const held = await desk.hold({}, abort.signal);
  abort.abort();
  const { command_id } = await queue(site, agent);
  t.same(offeredIds(held.value), []);
  t.match(rowOf(site, command_id), { status: 'queued', offers: 0 });
  t.same(offeredIds(await desk.sync()), [command_id]);
});

t.test('a caller that had gone before its sync was read is offered nothing (C22)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  const abort = new AbortController();
  const gone = desk.send({}, abort.signal);
  abort.abort();
  await site.clock.settle(gone.catch(() => null));
  t.equal(rowOf(site, command_id).offers, 0);
});

t.test('two commands that went into a black hole both arrive afterwards, in order (C23)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const swallowed = await desk.hold({ capacity: 2 });
  const first = await queue(site, agent);
  const second = await queue(site, agent);
  t.same(offeredIds(swallowed.value), [first.command_id], 'answered with the first, and nobody read it');
  await site.clock.advance(30_000);
  t.same(offeredIds(await desk.sync({ capacity: 2 })), [first.command_id, second.command_id]);
});

t.test('no more is offered than the desktop can start, in the order of queueing', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const queued: string[] = [];
  for (let index = 0; index < 4; index++) queued.push((await queue(site, agent)).command_id);
  t.same(offeredIds(await desk.sync({ capacity: 0 })), []);
  t.same(offeredIds(await desk.sync({ capacity: 2 })), queued.slice(0, 2));
  t.same(offeredIds(await desk.sync({ capacity: 1, holding: queued.slice(0, 2) })), queued.slice(2, 3));
  t.same(offeredIds(await desk.sync({ capacity: 9, holding: queued.slice(0, 3) })), queued.slice(3));
});

t.test('a held sync of a busy desktop is not answered by a new command', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const held = await desk.hold({ capacity: 0 });
  const { command_id } = await queue(site, agent);
  await site.clock.advance(1_000);
  t.equal(held.value, null);
  t.equal(rowOf(site, command_id).status, 'queued', 'what waits is truly queued');
});

t.test('a completion that frees a slot sends the next command into the held sync', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const running = await startedRun({ site, agent, desk });
  const held = await desk.hold({ capacity: 0, holding: [running] });
  const { command_id } = await queue(site, agent);
  t.equal(held.value, null);
  const { data } = await desk.complete(running, { capacity: 1 });
  t.match(data, { stored: true, sync_raised: true });
  t.same(offeredIds(held.value), [command_id]);
});

t.test('a raised capacity serves commands that are queued later', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const running = await startedRun({ site, agent, desk });
  const held = await desk.hold({ capacity: 0, holding: [running] });
  t.match((await desk.complete(running, { capacity: 1 })).data, { sync_raised: true });
  t.equal(held.value, null, 'nothing was waiting');
  const { command_id } = await queue(site, agent);
  t.same(offeredIds(held.value), [command_id]);
});

t.test('a completion tells when no sync was held that it could have raised', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const running = await startedRun({ site, agent, desk });
  t.match((await desk.complete(running, { capacity: 1 })).data, { stored: true, sync_raised: false });
  const second = await startedRun({ site, agent, desk });
  await desk.hold({ capacity: 0, holding: [second] });
  t.match((await desk.complete(second)).data, { sync_raised: false }, 'nor when the completion names no capacity');
});

t.test('a raise never lowers what the held sync had said', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const running = await startedRun({ site, agent, desk });
  const held = await desk.hold({ capacity: 3, holding: [running] });
  await desk.complete(running, { capacity: 0 });
  await queue(site, agent);
  t.equal(offeredIds(held.value)?.length, 1);
});

t.test('a desktop is offered only what is meant for it', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const other = await newDesk(site, 'second desktop');
  const sessions = [session({ graph_session_id: OTHER_SESSION, slug: 'other' })];
  const held = await other.hold({ projects: [{ project_id: 'home', sessions }] });
  const { command_id } = await queue(site, agent);
  await site.clock.advance(1_000);
  t.equal(held.value, null);
  t.match(await other.control(command_id), { data: { cancel: true, reason: 'unknown-command' } });
  t.equal((await other.complete(command_id)).error?.data.relayCode, 'unknown-command');
  t.same(offeredIds(await desk.sync()), [command_id]);
});

t.test('a sync that is answered at once takes the place of one that is still held', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const held = await desk.hold({ capacity: 0 });
  const { command_id } = await queue(site, agent);
  t.same(offeredIds(await desk.sync()), [command_id]);
  t.same(offeredIds(held.value), []);
});

t.test('a relay that drains ends its holds, empty, and offers nothing any more (C42)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const held = await desk.hold();
  await site.clock.settle(site.relay.drain());
  t.same(offeredIds(held.value), []);
  const { command_id } = await queue(site, agent);
  t.same(offeredIds(await desk.sync({ hold_ms: HOLD_MS })), [], 'answered at once, without a hold or an offer');
  t.equal(rowOf(site, command_id).offers, 0);
});
