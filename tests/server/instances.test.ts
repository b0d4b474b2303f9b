/** One live instance per desktop: epochs, replacement, what an instance left behind, and restarts of the relay. */
import t from 'tap';
import { RESTARTED_DURING_RUN } from '../../protocol/texts.ts';
import {
  cancel,
  connectedSite,
  offeredIds,
  pending,
  queue,
  read,
  restarted,
  rowOf,
  runRequest,
  startedRun,
} from './support.ts';

t.test('a newer instance gets a higher epoch, and the older one is told that it was replaced', async (t) => {
  const { desk } = await connectedSite();
  t.equal((await desk.sync()).data?.epoch, 1);
  const newer = desk.newInstance();
  t.equal((await newer.sync()).data?.epoch, 2);
  const refused = await desk.sync();
  t.equal(refused.status, 409);
  t.equal(refused.error?.data.relayCode, 'session-replaced');
  t.equal((await newer.sync()).data?.epoch, 2, 'the refused one changed nothing');
});

t.test('the held sync of the older instance is refused at once, and the newer one gets what comes', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const held = await desk.hold();
  const newer = desk.newInstance();
  const heldByNewer = await newer.hold();
  t.equal(held.value?.status, 409);
  t.equal(held.value?.error?.data.relayCode, 'session-replaced');
  const { command_id } = await queue(site, agent);
  t.same(offeredIds(heldByNewer.value), [command_id]);
});

t.test('an ack of an older instance runs nothing', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  await desk.sync();
  const newer = desk.newInstance();
  t.same(offeredIds(await newer.sync()), [command_id], 'the offer to the older one is nothing');
  t.match((await desk.control(command_id, { epoch: 1 })).data, { cancel: true, reason: 'session-replaced' });
  t.match((await newer.control(command_id, { epoch: 2 })).data, { cancel: false, reason: null });
});

t.test('an ack that waits for the disk while its instance is replaced runs nothing', async (t) => {
  const { site, agent, desk } = await connectedSite({ syncDelayMs: 50 });
  const held = await desk.hold();
  // The offer goes out in this turn; the command is on disk 50 ms later, and another commit 50 ms after that.
  const ticket = site.relay.agents.runSession(agent, runRequest());
  await site.clock.advance(0);
  const [commandId] = offeredIds(held.value) as [string];
  const ack = desk.ask(commandId, { epoch: 1 });
  await site.clock.advance(10);
  const newer = desk.newInstance();
  const synced = newer.send();
  t.match((await site.clock.settle(ack)).data, { cancel: true, reason: 'session-replaced' });
  t.same(offeredIds(await site.clock.settle(synced)), [commandId]);
  await ticket;
  t.match((await newer.control(commandId, { epoch: 2 })).data, { cancel: false });
});

t.test('a new instance ends the runs that it does not hold, and keeps those that it holds (C62)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const kept = await startedRun({ site, agent, desk });
  const { command_id: gone } = await queue(site, agent);
  await desk.sync({ holding: [kept] });
  await desk.control(gone);
  await desk.newInstance().sync({ holding: [kept] });
  t.match(await read(site, agent, gone), { status: 'failed', error: RESTARTED_DURING_RUN });
  t.equal((await read(site, agent, kept)).status, 'running');
});

t.test('a slot that was lost in a crash is free for the next run (C62)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  await startedRun({ site, agent, desk });
  const { command_id } = await queue(site, agent);
  const reborn = desk.newInstance();
  t.same(offeredIds(await reborn.sync()), [command_id]);
  t.match((await reborn.control(command_id)).data, { cancel: false });
});

t.test('a run that was to be cancelled when its desktop restarted is cancelled, not failed', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  await cancel(site, agent, commandId);
  await desk.newInstance().sync();
  t.equal((await read(site, agent, commandId)).status, 'cancelled');
});

t.test('waiting commands survive a restart of the desktop', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  await desk.sync();
  t.same(offeredIds(await desk.newInstance().sync()), [command_id]);
});

t.test('epochs, the queue and its order survive a kill of the relay', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const newer = desk.newInstance();
  await newer.sync();
  const first = await queue(site, agent);
  const second = await queue(site, agent);
  const after = restarted(site);
  t.equal((await desk.at(after).sync()).status, 409, 'a replaced instance stays replaced');
  const answer = await newer.at(after).sync({ capacity: 2 });
  t.equal(answer.data?.epoch, 2, 'the live instance keeps its epoch');
  t.same(offeredIds(answer), [first.command_id, second.command_id]);
  t.equal((await newer.at(after).newInstance().sync()).data?.epoch, 3);
});

t.test('a command that was offered when the relay was killed goes to the desktop that never got it', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  await desk.sync();
  const after = restarted(site);
  t.equal(rowOf(after, command_id).status, 'offered');
  t.same(offeredIds(await desk.at(after).sync()), [command_id]);
});

t.test('what may run is on disk before the desktop is told, so a relay that is killed then knows of it', async (t) => {
  const { site, agent, desk } = await connectedSite({ syncDelayMs: 50 });
  const { command_id } = await queue(site, agent);
  await desk.sync();
  t.match((await desk.control(command_id)).data, { cancel: false });
  const after = restarted(site);
  const executionId = desk.execution(command_id);
  t.match(rowOf(after, command_id), { status: 'running', executionId });
  const ask = { execution_id: executionId, phase: 'running' as const };
  t.same(offeredIds(await desk.at(after).sync({ holding: [command_id] })), []);
  t.match((await desk.at(after).control(command_id, ask)).data, { cancel: false });
});

t.test(
  'a relay that is killed before the start is on disk has told nobody, and its cancel is the last word',
  async (t) => {
    const { site, agent, desk } = await connectedSite({ syncDelayMs: 50 });
    const { command_id } = await queue(site, agent);
    await desk.sync();
    const ack = pending(desk.ask(command_id));
    await site.clock.advance(49);
    t.equal(ack.value, null, 'the answer waits for the disk');
    const after = restarted(site);
    await cancel(after, agent, command_id);
    t.equal((await read(after, agent, command_id)).status, 'cancelled');
    t.match((await desk.at(after).control(command_id)).data, { cancel: true, reason: 'cancelled' });
  },
);

t.test('an ack whose command is cancelled while the start is written runs nothing', async (t) => {
  const { site, agent, desk } = await connectedSite({ syncDelayMs: 50 });
  const { command_id } = await queue(site, agent);
  await desk.sync();
  const ack = desk.ask(command_id);
  await site.clock.advance(10);
  await cancel(site, agent, command_id);
  t.match((await site.clock.settle(ack)).data, { cancel: true, reason: 'cancelled' });
});

t.test('a question about a run that was never allowed to start is answered so, and starts nothing', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  await desk.sync();
  t.match((await desk.control(command_id, { phase: 'running' })).data, { cancel: true, reason: 'not-started' });
  t.equal((await read(site, agent, command_id)).status, 'queued');
});

t.test('an epoch is told only when no kill can take it back', async (t) => {
  const { site, desk } = await connectedSite();
  site.store.failWrites('no space left');
  const newer = desk.newInstance();
  for (let attempt = 0; attempt < 3; attempt++) {
    const refused = await newer.sync();
    t.equal(refused.error?.data.relayCode, 'store-unavailable', `attempt ${attempt}`);
    t.equal(refused.status, 503);
  }
  site.store.failWrites(null);
  const answer = await newer.sync();
  t.equal(answer.data?.epoch, 2);
  const after = restarted(site);
  t.equal((await newer.at(after).sync()).data?.epoch, 2);
  t.equal((await desk.at(after).sync()).status, 409);
});

t.test('a desktop is online from its contact on, and after a kill only when it was heard of again', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const online = async (at: typeof site) => {
    const list = at.relay.agents.listSessions(agent, { project_id: undefined, limit: 50 });
    return (await at.clock.settle(list)).sessions[0]?.desktop.online;
  };
  t.equal(await online(site), true);
  await site.clock.advance(29_999);
  t.equal(await online(site), true);
  await site.clock.advance(1);
  t.equal(await online(site), false);
  const after = restarted(site);
  t.equal(await online(after), false, 'what it shares is known, that it is there is not');
  await desk.at(after).sync();
  t.equal(await online(after), true);
});

t.test('a late sync of an instance that ended is refused, though the relay never heard of it before', async (t) => {
  const { desk } = await connectedSite();
  const dead = desk.newInstance();
  const live = desk.newInstance();
  const [deadId] = [dead.instance];
  t.equal((await live.sync({ predecessors: [deadId] })).data?.epoch, 2);
  const late = await dead.sync();
  t.equal(late.error?.data.relayCode, 'session-replaced');
  t.equal((await live.sync()).data?.epoch, 2, 'and the live one stays');
});

t.test('an instance that names itself as its predecessor is admitted all the same', async (t) => {
  const { desk } = await connectedSite();
  const odd = desk.newInstance();
  t.equal((await odd.sync({ predecessors: [odd.instance] })).data?.epoch, 2);
  t.equal((await odd.sync()).data?.epoch, 2);
});
