/** When to look again: what is said of a run that has not ended, from the hold, the queue and the session's history. */
import t from 'tap';
import { connectedSite, queue, read, restarted, startedRun } from './support.ts';

type Here = Awaited<ReturnType<typeof connectedSite>>;

/** Lets a run of the session take so long, from start to completion. */
async function ran(here: Here, seconds: number): Promise<void> {
  const commandId = await startedRun(here);
  await here.site.clock.advance(seconds * 1_000);
  await here.desk.complete(commandId);
}

async function listed({ site, agent }: Pick<Here, 'site' | 'agent'>) {
  const list = site.relay.agents.listSessions(agent, { project_id: undefined, limit: 50 });
  return (await site.clock.settle(list)).sessions[0];
}

async function advice(here: Here, commandId: string): Promise<number | null> {
  return (await read(here.site, here.agent, commandId)).check_after_seconds;
}

t.test('the history of a session is its last runs, also after a restart of the relay', async (t) => {
  const here = await connectedSite();
  t.equal((await listed(here))?.typical_run, null);
  for (const seconds of [10, 70, 30]) await ran(here, seconds);
  t.same((await listed(here))?.typical_run, { median_ms: 30_000, runs: 3 });
  const site = restarted(here.site);
  t.same((await listed({ ...here, site }))?.typical_run, { median_ms: 30_000, runs: 3 });
});

t.test('the first look comes when a fifth of the earlier runs had ended', async (t) => {
  const here = await connectedSite();
  for (const seconds of [60, 20, 40, 30, 50]) await ran(here, seconds);
  await here.desk.hold({ capacity: 1 });
  const { command_id } = await queue(here.site, here.agent);
  t.equal(await advice(here, command_id), 20);
});

t.test('later looks come after a fifth of the time in which most of them ended', async (t) => {
  const here = await connectedSite();
  for (const seconds of [20, 40, 60, 80, 100]) await ran(here, seconds);
  const commandId = await startedRun(here);
  t.equal(await advice(here, commandId), 20);
  await here.site.clock.advance(15_000);
  t.equal(await advice(here, commandId), 5, 'not before the first look');
  await here.site.clock.advance(10_000);
  t.equal(await advice(here, commandId), 12, 'a fifth of the way from 20 to 80');
  await here.site.clock.advance(175_000);
  t.equal(await advice(here, commandId), 50, 'it has outlasted them all: a quarter of its age');
});

t.test('runs that take nearly the same time are looked at near their end', async (t) => {
  const here = await connectedSite();
  for (const seconds of [60, 61, 62, 63, 64]) await ran(here, seconds);
  const commandId = await startedRun(here);
  t.equal(await advice(here, commandId), 60);
  await here.site.clock.advance(60_000);
  t.equal(await advice(here, commandId), 1);
});

t.test('what runs and waits before it is counted in', async (t) => {
  const here = await connectedSite();
  for (const seconds of [30, 30, 30]) await ran(here, seconds);
  await startedRun(here);
  await here.site.clock.advance(10_000);
  await here.desk.hold({ capacity: 0 });
  await queue(here.site, here.agent);
  const { command_id } = await queue(here.site, here.agent);
  t.equal(await advice(here, command_id), 20 + 30 + 30);
});

t.test('without a history the advice is short, and grows with the age of the run', async (t) => {
  const here = await connectedSite();
  const commandId = await startedRun(here);
  t.equal(await advice(here, commandId), 10);
  await here.site.clock.advance(8_000);
  t.equal(await advice(here, commandId), 2);
  await here.site.clock.advance(92_000);
  t.equal(await advice(here, commandId), 25);
});

t.test('a desktop that is away is looked at once a minute, and an ended run not again', async (t) => {
  const here = await connectedSite();
  await here.site.clock.advance(60_000);
  const { command_id } = await queue(here.site, here.agent);
  t.equal(await advice(here, command_id), 60);
  const commandId = await startedRun(here);
  await here.desk.complete(commandId);
  t.equal(await advice(here, commandId), null);
});

t.test('advice stays between a second and five minutes', async (t) => {
  const here = await connectedSite();
  await ran(here, 800);
  const commandId = await startedRun(here);
  t.equal(await advice(here, commandId), 300);
  await here.site.clock.advance(799_900);
  t.equal(await advice(here, commandId), 1);
});
