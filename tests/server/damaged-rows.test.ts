/** Rows that a crash or an older version left incomplete: they can be read and cancelled, and block nothing (C45). */
import t from 'tap';
import type { MemoryImage } from '../../protocol/host/state/memory-state.ts';
import {
  cancel,
  connectedSite,
  offeredIds,
  openSite,
  queue,
  read,
  restarted,
  rowOf,
  type Site,
  startedRun,
} from './support.ts';

/** The relay after a kill, with fields missing from one of its rows. */
function damaged(site: Site, commandId: string, missing: readonly string[]): Site {
  const image = structuredClone(site.store.crash());
  const rows = new Map((image.tables as unknown as [string, [string, Record<string, unknown>][]][]) ?? []);
  const row = new Map(rows.get('command')).get(commandId)!;
  for (const field of missing) delete row[field];
  return openSite({ clock: site.clock, restore: image as MemoryImage });
}

const MISSING: readonly (readonly string[])[] = [
  ['arguments'],
  ['queuedAt'],
  ['startBy'],
  ['sequence'],
  ['requestHash', 'idempotencyKey'],
  ['offeredAt', 'startedAt', 'finishedAt', 'cancelRequestedAt', 'offers', 'epoch'],
  ['error', 'totalTokens', 'reportedCost', 'result', 'stopReason', 'transport'],
  ['arguments', 'queuedAt', 'startBy', 'sequence', 'slug', 'offers', 'error', 'executionId'],
];

for (const missing of MISSING) {
  t.test(`a queued run without ${missing.join(', ')} can be read and cancelled (C45)`, async (t) => {
    const { site, agent } = await connectedSite();
    const { command_id } = await queue(site, agent);
    const after = damaged(site, command_id, missing);
    t.equal((await read(after, agent, command_id)).command_id, command_id);
    t.equal((await cancel(after, agent, command_id)).status, 'cancelled');
    t.equal((await read(after, agent, command_id)).status, 'cancelled');
  });

  t.test(`a run that goes on without ${missing.join(', ')} can be read and stopped (C45)`, async (t) => {
    const { site, agent, desk } = await connectedSite();
    const commandId = await startedRun({ site, agent, desk });
    const after = damaged(site, commandId, missing);
    t.equal((await read(after, agent, commandId)).status, 'running');
    t.equal((await cancel(after, agent, commandId)).cancel_requested, true);
    await after.clock.advance(16 * 60_000);
    t.equal((await read(after, agent, commandId)).status, 'cancelled');
  });

  t.test(`a waiting run without ${missing.join(', ')} keeps no other run from its desktop (C45)`, async (t) => {
    const { site, agent, desk } = await connectedSite();
    const { command_id: bad } = await queue(site, agent);
    const { command_id: good } = await queue(site, agent);
    const after = damaged(site, bad, missing);
    const answer = await desk.at(after).sync({ capacity: 5 });
    t.ok(offeredIds(answer)?.includes(good));
    for (const command of answer.data?.commands ?? []) t.type(command.arguments, 'object', 'what is offered is whole');
    const { sessions } = await after.relay.agents.listSessions(agent, { project_id: undefined, limit: 50 });
    t.equal(sessions.length, 1, 'the list does not care');
    const next = await queue(after, agent);
    t.ok(Number.isInteger(rowOf(after, next.command_id).sequence), 'new runs still have a place in the order');
    t.ok(rowOf(after, next.command_id).sequence > rowOf(after, good).sequence);
  });
}

t.test('a row without instants makes no timer spin (C45)', async (t) => {
  const { site, agent } = await connectedSite();
  const { command_id } = await queue(site, agent);
  const after = damaged(site, command_id, ['startBy', 'queuedAt']);
  const before = after.clock.events;
  await after.clock.advance(60_000);
  t.ok(after.clock.events - before < 10, `${after.clock.events - before} timers in a minute`);
  t.ok(Number.isFinite(after.clock.monotonic()));
});

t.test('a run without its arguments is never given to a desktop (C45)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent, { arguments: { to: 'everybody' } });
  const after = damaged(site, command_id, ['arguments']);
  t.same(offeredIds(await desk.at(after).sync()), []);
  t.equal((await read(after, agent, command_id)).status, 'expired');
});

t.test('the book of a relay that is whole is not touched by a restart', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  const row = rowOf(site, commandId);
  t.same(rowOf(restarted(site), commandId), row);
});
