/** What happens when nothing happens: start-by, silence, and a wall clock that jumps. Timers are hints, instants count. */
import t from 'tap';
import { LOST_AFTER_MS, START_BY_DEFAULT_MS } from '../../protocol/limits.ts';
import {
  cancel,
  connectedSite,
  HOLD_MS,
  newDesk,
  offeredIds,
  queue,
  read,
  restarted,
  rowOf,
  startedRun,
} from './support.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

t.test('a run that nobody took expires at its start-by time, and not before (C16)', async (t) => {
  const { site, agent } = await connectedSite();
  const { command_id } = await queue(site, agent);
  await site.clock.advance(START_BY_DEFAULT_MS - 1);
  t.equal((await read(site, agent, command_id)).status, 'queued');
  await site.clock.advance(1);
  const run = await read(site, agent, command_id);
  t.equal(run.status, 'expired');
  t.match(run.error, /did not start in time/);
});

t.test('an offer that is held but not begun expires as well', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  await desk.sync();
  await desk.sync({ holding: [command_id] });
  await site.clock.advance(START_BY_DEFAULT_MS);
  t.equal((await read(site, agent, command_id)).status, 'expired');
  t.match((await desk.control(command_id)).data, { cancel: true, reason: 'expired' });
});

t.test('a start-by time that passed while no timer ran is seen when the run would be offered (C16)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id: late } = await queue(site, agent);
  site.clock.stepWall(START_BY_DEFAULT_MS);
  const { command_id: fresh } = await queue(site, agent);
  t.same(offeredIds(await desk.sync()), [fresh], 'the expired one takes no slot');
  t.equal((await read(site, agent, late)).status, 'expired');
});

t.test('a start-by time that passed after the offer is seen at the ack (C16)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  await desk.sync();
  site.clock.stepWall(START_BY_DEFAULT_MS);
  t.match((await desk.control(command_id)).data, { cancel: true, reason: 'expired' });
  t.match(rowOf(site, command_id), { status: 'expired', startedAt: null });
});

t.test('a pause of four hours lets a run start that may still start (C16)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  site.clock.stepWall(4 * HOUR);
  t.same(offeredIds(await desk.sync()), [command_id]);
  t.match((await desk.control(command_id)).data, { cancel: false });
});

t.test('a start-by time is kept over a kill of the relay (C16)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  const { startBy } = rowOf(site, command_id);
  const image = site.store.crash();
  await site.clock.advance(START_BY_DEFAULT_MS);
  const after = restarted({ ...site, store: { ...site.store, crash: () => image } });
  t.equal(rowOf(after, command_id).startBy, startBy);
  t.same(offeredIds(await desk.at(after).sync()), []);
  t.equal((await read(after, agent, command_id)).status, 'expired');
});

for (const minutes of [10, -10]) {
  t.test(`a wall clock that steps by ${minutes} minutes ends no run, no hold and no presence (C19)`, async (t) => {
    const { site, agent, desk } = await connectedSite();
    const running = await startedRun({ site, agent, desk });
    const { command_id: offered } = await queue(site, agent);
    await desk.sync({ holding: [running] });
    const { command_id: waiting } = await queue(site, agent);
    const held = await desk.hold({ capacity: 0, holding: [running, offered] });
    await site.clock.advance(1_000);
    const events = site.clock.events;
    site.clock.stepWall(minutes * MINUTE);
    await site.clock.advance(HOLD_MS - 2_000);
    t.equal(held.value, null, 'the hold goes on');
    t.ok(site.clock.events - events <= 2, `no busy loop: ${site.clock.events - events} timers`);
    const statuses = [running, offered, waiting].map((id) => rowOf(site, id).status);
    t.same(statuses, ['running', 'offered', 'queued']);
    const { sessions } = await site.relay.agents.listSessions(agent, { project_id: undefined, limit: 1 });
    t.equal(sessions[0]?.desktop.online, true);
    await desk.complete(running);
    const { timing } = await read(site, agent, running);
    t.ok(timing.pickup_ms! >= 0 && timing.run_ms! >= 0, `no negative durations: ${JSON.stringify(timing)}`);
  });
}

t.test('a desktop that is not heard of loses its run after a quarter of an hour, and no earlier (C57)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  await site.clock.advance(10 * MINUTE);
  await desk.sync({ holding: [commandId] });
  await site.clock.advance(LOST_AFTER_MS - 1);
  t.equal((await read(site, agent, commandId)).status, 'running', 'measured from the last contact');
  await site.clock.advance(1);
  const run = await read(site, agent, commandId);
  t.equal(run.status, 'lost');
  t.match(run.error, /not been heard of/);
});

t.test('a control or another completion is a sign of life too', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const first = await startedRun({ site, agent, desk });
  const { command_id: second } = await queue(site, agent);
  await desk.sync({ holding: [first] });
  await desk.control(second);
  await site.clock.advance(LOST_AFTER_MS - 1);
  await desk.control(first, { phase: 'running' });
  await site.clock.advance(LOST_AFTER_MS - 1);
  await desk.complete(second);
  await site.clock.advance(LOST_AFTER_MS - 1);
  t.equal((await read(site, agent, first)).status, 'running');
  await site.clock.advance(1);
  t.equal((await read(site, agent, first)).status, 'lost');
});

t.test('a lost run is repaired by the completion that comes late (C51)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  await site.clock.advance(LOST_AFTER_MS);
  t.equal((await read(site, agent, commandId)).status, 'lost');
  t.match((await desk.control(commandId, { phase: 'running' })).data, { cancel: false }, 'the run may go on');
  t.match((await desk.complete(commandId, { result: 9 })).data, { stored: true, already: false });
  t.match(await read(site, agent, commandId), { status: 'completed', result: 9, error: null });
});

t.test('a run whose desktop never comes back after a kill of the relay becomes lost as well', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  const after = restarted(site);
  await after.clock.advance(LOST_AFTER_MS - 1);
  t.equal((await read(after, agent, commandId)).status, 'running', 'the relay gives it a whole silence of its own');
  await after.clock.advance(1);
  t.equal((await read(after, agent, commandId)).status, 'lost');
});

t.test('a cancel of a run whose desktop is gone for good ends it when the silence is over (C48)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  t.equal((await cancel(site, agent, commandId)).status, 'running');
  await site.clock.advance(LOST_AFTER_MS);
  t.equal((await read(site, agent, commandId)).status, 'cancelled');
});

t.test('a run that was offered to a desktop that is gone for good is cancelled at once (C48)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  await desk.sync();
  t.equal((await cancel(site, agent, command_id)).status, 'cancelled');
  await site.clock.advance(LOST_AFTER_MS);
  t.equal((await read(site, agent, command_id)).status, 'cancelled');
});

t.test('the silence of one desktop ends no run of another', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  const other = await newDesk(site, 'chatty');
  for (let minute = 0; minute < 16; minute++) {
    await site.clock.advance(MINUTE);
    await other.sync({ projects: [] });
  }
  t.equal((await read(site, agent, commandId)).status, 'lost');
});

for (const minutes of [10, -10]) {
  t.test(`a step of ${minutes} minutes neither hastens nor delays the loss of a run (C19)`, async (t) => {
    const { site, agent, desk } = await connectedSite();
    const commandId = await startedRun({ site, agent, desk });
    site.clock.stepWall(minutes * MINUTE);
    await site.clock.advance(6 * MINUTE);
    // A change of the command arms its timer anew, and is no sign of life of its desktop.
    await cancel(site, agent, commandId);
    await site.clock.advance(LOST_AFTER_MS - 6 * MINUTE - 1);
    t.equal((await read(site, agent, commandId)).status, 'running');
    await site.clock.advance(1);
    t.equal((await read(site, agent, commandId)).status, 'cancelled');
  });
}
