/** A disk that refuses writes: nothing is promised, nothing runs, and all goes on when it heals. */
import t from 'tap';
import { STORE_REFUSES } from '../../protocol/errors.ts';
import {
  cancel,
  connectedSite,
  HOLD_MS,
  offeredIds,
  pending,
  queue,
  restarted,
  rowOf,
  runRequest,
  startedRun,
} from './support.ts';

const REFUSED = { code: 'store-unavailable' };

async function readyz(site: Awaited<ReturnType<typeof connectedSite>>['site']) {
  const response = await site.relay.fetch(new Request('http://relay.test/readyz'));
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

t.test('no ticket goes out while the disk refuses, and the same key gives the same run when it heals', async (t) => {
  const { site, agent } = await connectedSite();
  const request = runRequest();
  site.store.failWrites('no space left on device');
  await t.rejects(site.clock.settle(site.relay.agents.runSession(agent, request)), REFUSED);
  await t.rejects(site.clock.settle(site.relay.agents.runSession(agent, request)), REFUSED, 'a repeat neither');
  t.equal(site.store.rows('command').size, 1, 'it is kept, once');
  site.store.failWrites(null);
  const ticket = await site.clock.settle(site.relay.agents.runSession(agent, request));
  t.equal(ticket.replayed, true);
  t.ok(restarted(site).store.rows('command').has(ticket.command_id));
  t.equal(site.store.rows('command').size, 1);
});

t.test('a run that is not on disk may travel to its desktop, but not begin there', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const held = await desk.hold();
  site.store.failWrites('no space left on device');
  await t.rejects(site.clock.settle(site.relay.agents.runSession(agent, runRequest())), REFUSED);
  const [commandId] = offeredIds(held.value) as [string];
  t.match(await desk.control(commandId), { status: 503, error: { data: { relayCode: 'store-unavailable' } } });
  t.equal(rowOf(site, commandId).startedAt, null);
  site.store.failWrites(null);
  t.match((await desk.control(commandId)).data, { cancel: false });
});

t.test(
  'an ack that comes while the disk still writes waits for that write, and for the one of its start',
  async (t) => {
    const { site, agent, desk } = await connectedSite({ syncDelayMs: 40 });
    const held = await desk.hold();
    const ticket = pending(site.relay.agents.runSession(agent, runRequest()));
    await site.clock.advance(0);
    const [commandId] = offeredIds(held.value) as [string];
    const ack = pending(desk.ask(commandId));
    await site.clock.advance(39);
    t.equal(ticket.value, null);
    await site.clock.advance(1);
    t.equal(ticket.value?.command_id, commandId);
    await site.clock.advance(39);
    t.equal(ack.value, null);
    // One write may be in between: that of the offer.
    await site.clock.advance(41);
    t.match(ack.value?.data, { cancel: false });
  },
);

t.test('a completion is stored only when the disk has it', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  site.store.failWrites('no space left on device');
  const refused = { status: 503, error: { message: STORE_REFUSES } };
  t.match(await desk.complete(commandId, { result: 1 }), refused, 'without a word of the disk');
  t.match(await desk.complete(commandId, { result: 1 }), { status: 503 }, 'nor is the repeat told that it was');
  site.store.failWrites(null);
  t.match((await desk.complete(commandId, { result: 1 })).data, { stored: true, already: true });
  const after = restarted(site);
  t.equal(rowOf(after, commandId).status, 'completed');
  t.equal(await after.store.readFrozen(commandId), '1');
});

t.test('a cancel is told only when the disk has it', async (t) => {
  const { site, agent } = await connectedSite();
  const { command_id } = await queue(site, agent);
  site.store.failWrites('no space left on device');
  await t.rejects(cancel(site, agent, command_id), REFUSED);
  site.store.failWrites(null);
  t.equal((await cancel(site, agent, command_id)).status, 'cancelled');
  t.equal(rowOf(restarted(site), command_id).status, 'cancelled');
});

t.test('a relay whose disk refuses is alive and not ready, and heals by itself', async (t) => {
  const { site, desk } = await connectedSite();
  t.match(await readyz(site), { status: 200, body: { status: 'ready' } });
  site.store.failWrites('no space left on device');
  await desk.newInstance().sync();
  t.match(await readyz(site), { status: 503, body: { status: 'store-unavailable', reason: STORE_REFUSES } });
  t.notMatch(JSON.stringify((await readyz(site)).body), /no space left/, 'what the disk says is for the log');
  const health = await site.relay.fetch(new Request('http://relay.test/healthz'));
  t.equal(health.status, 200);
  site.store.failWrites(null);
  await site.clock.advance(2_000);
  t.match(await readyz(site), { status: 200 });
});

t.test('a connected desktop stays connected while the disk refuses', async (t) => {
  const { site, agent, desk } = await connectedSite();
  site.store.failWrites('no space left on device');
  await t.rejects(queue(site, agent), REFUSED);
  const held = await desk.hold({ capacity: 0 });
  await site.clock.advance(HOLD_MS);
  t.equal(held.value?.status, 200);
});

t.test('a token is not given out while the disk refuses', async (t) => {
  const { site } = await connectedSite();
  site.store.failWrites('no space left on device');
  const make = site.relay.access.createToken({ kind: 'desktop', name: 'new' });
  await t.rejects(site.clock.settle(make), REFUSED);
});

t.test('what was never on disk is gone after a kill, and nobody was promised it', async (t) => {
  const { site, agent, desk } = await connectedSite({ syncDelayMs: 40 });
  const held = await desk.hold();
  const ticket = pending(site.relay.agents.runSession(agent, runRequest()));
  await site.clock.advance(10);
  const [commandId] = offeredIds(held.value) as [string];
  const after = restarted(site);
  await after.clock.advance(1_000);
  t.equal(ticket.value, null);
  t.match((await desk.at(after).control(commandId)).data, { cancel: true, reason: 'unknown-command' });
  t.match((await desk.at(after).complete(commandId)).error?.data, { relayCode: 'unknown-command' });
});

t.test('a relay that drains is not ready', async (t) => {
  const { site } = await connectedSite();
  await site.clock.settle(site.relay.drain());
  t.match(await readyz(site), { status: 503, body: { status: 'draining' } });
});
