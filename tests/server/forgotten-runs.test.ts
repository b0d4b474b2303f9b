/** Runs that a desktop which lives on has forgotten: they end, and none that it has does. */
import t from 'tap';
import { LOST_AFTER_MS } from '../../protocol/limits.ts';
import { cancel, connectedSite, type Desk, queue, read, restarted, rowOf, type Site, startedRun } from './support.ts';

const SECOND = 1_000;

/** The desktop goes on with its syncs and says that it has these. */
async function lives(site: Site, desk: Desk, { forMs, holding = [] }: { forMs: number; holding?: string[] }) {
  for (let ms = 0; ms < forMs; ms += 20 * SECOND) {
    await site.clock.advance(20 * SECOND);
    await desk.sync({ capacity: 0, holding });
  }
}

t.test(
  'a run that its living desktop names no more is lost, and its late result is still taken (C48, C82)',
  async (t) => {
    const { site, agent, desk } = await connectedSite();
    const commandId = await startedRun({ site, agent, desk });
    await lives(site, desk, { forMs: 5 * 60 * SECOND, holding: [commandId] });
    // Its report was refused, for example, since it was too large.
    await lives(site, desk, { forMs: LOST_AFTER_MS - 20 * SECOND });
    t.equal((await read(site, agent, commandId)).status, 'running', 'not before its time');
    await lives(site, desk, { forMs: 40 * SECOND });
    t.match(await read(site, agent, commandId), { status: 'lost', desktop: { online: true } });
    t.match((await desk.complete(commandId, { result_truncated: true })).data, { stored: true, already: false });
    t.match(await read(site, agent, commandId), { status: 'completed', result_truncated: true });
  },
);

t.test('a run that its desktop names in each sync, or asks about, goes on for hours', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const named = await startedRun({ site, agent, desk });
  const { command_id: asked } = await queue(site, agent);
  await desk.sync({ holding: [named] });
  await desk.control(asked);
  for (let minute = 0; minute < 180; minute++) {
    await lives(site, desk, { forMs: 60 * SECOND, holding: [named] });
    if (minute % 10 === 0) await desk.control(asked, { phase: 'running' });
  }
  t.equal(rowOf(site, named).status, 'running');
  t.equal(rowOf(site, asked).status, 'running');
});

t.test('a cancel of a forgotten run comes to its end as well (C48)', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  t.match(await cancel(site, agent, commandId), { status: 'running', cancel_requested: true });
  await lives(site, desk, { forMs: LOST_AFTER_MS + 20 * SECOND });
  t.equal((await read(site, agent, commandId)).status, 'cancelled');
});

t.test('after a kill of the relay a run has its whole time to be named again', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  await site.clock.advance(LOST_AFTER_MS - SECOND);
  const after = restarted(site);
  await after.clock.advance(LOST_AFTER_MS - SECOND);
  t.equal((await read(after, agent, commandId)).status, 'running');
  await desk.at(after).sync({ capacity: 0, holding: [commandId] });
  await lives(after, desk.at(after), { forMs: 2 * LOST_AFTER_MS, holding: [commandId] });
  t.equal((await read(after, agent, commandId)).status, 'running');
});

t.test('a run that starts when the relay has been up for hours has its whole time, too', async (t) => {
  const { site, agent, desk } = await connectedSite();
  await lives(site, desk, { forMs: 2 * LOST_AFTER_MS });
  const commandId = await startedRun({ site, agent, desk });
  await lives(site, desk, { forMs: LOST_AFTER_MS - 60 * SECOND });
  t.equal((await read(site, agent, commandId)).status, 'running');
});
