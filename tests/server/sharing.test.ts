/** What the owner shares, as the relay sees it: lists, withdrawn shares, changed slugs, projects that are gone. */
import t from 'tap';
import { NOT_SHARED, RUN_NOT_FOUND } from '../../protocol/texts.ts';
import {
  cancel,
  connectedSite,
  HOLD_MS,
  newAgent,
  newDesk,
  OTHER_SESSION,
  offeredIds,
  PROJECT,
  pending,
  queue,
  read,
  restarted,
  rowOf,
  session,
  startedRun,
} from './support.ts';

const NOTHING = { projects: [{ project_id: PROJECT, sessions: [] }] };

function shares(...sessions: ReturnType<typeof session>[]) {
  return { projects: [{ project_id: PROJECT, sessions }] };
}

const WITHDRAWALS: Readonly<Record<string, object>> = {
  'the session is not ticked any more': NOTHING,
  'the project is disabled': { projects: [] },
  'the slug has changed': shares(session({ slug: 'renamed' })),
  'another session is shared in its place': shares(session({ graph_session_id: OTHER_SESSION })),
};

for (const [name, projects] of Object.entries(WITHDRAWALS)) {
  t.test(`what waits is cancelled when ${name}`, async (t) => {
    const { site, agent, desk } = await connectedSite();
    const { command_id: offered } = await queue(site, agent);
    await desk.sync();
    const { command_id: queued } = await queue(site, agent);
    t.same(offeredIds(await desk.sync({ holding: [offered], capacity: 0, ...projects })), []);
    for (const id of [offered, queued]) {
      t.match(await read(site, agent, id), { status: 'cancelled', error: NOT_SHARED });
    }
    t.match((await desk.control(offered)).data, { cancel: true, reason: 'not-shared' });
  });
}

t.test('a run that goes on is asked to stop when its session is not shared any more', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const commandId = await startedRun({ site, agent, desk });
  const control = pending(desk.ask(commandId, { phase: 'running', hold_ms: HOLD_MS }));
  await site.clock.advance(10);
  await desk.sync({ holding: [commandId], ...NOTHING });
  t.match(control.value?.data, { cancel: true, reason: 'not-shared' });
  await desk.complete(commandId, { status: 'cancelled', error: NOT_SHARED });
  t.match(await read(site, agent, commandId), { status: 'cancelled', error: NOT_SHARED });
});

t.test('an edit that keeps the slug withdraws nothing', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  const edited = session({ name: 'Hello again', description: 'new', version: 2, status: 'broken' });
  t.same(offeredIds(await desk.sync(shares(edited))), [command_id]);
});

t.test('a session that is withdrawn and shared again takes new runs, and the old ones stay cancelled', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  await desk.sync(NOTHING);
  await t.rejects(queue(site, agent), { message: /not found or not shared/ });
  await desk.sync();
  t.equal((await read(site, agent, command_id)).status, 'cancelled');
  t.equal((await queue(site, agent)).status, 'queued');
});

t.test('a Graph that does not parse is listed and cannot be run', async (t) => {
  const { site, agent, desk } = await connectedSite();
  await desk.sync(shares(session({ status: 'broken' })));
  const { sessions } = await site.relay.agents.listSessions(agent, { project_id: PROJECT, limit: 50 });
  t.equal(sessions[0]?.status, 'broken');
  await t.rejects(queue(site, agent), { message: /does not parse/ });
});

t.test('an agent sees the sessions of its own projects only, and no more than it asked for', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { agent: stranger } = await newAgent(site, 'stranger', ['elsewhere']);
  await desk.sync(shares(session(), session({ graph_session_id: OTHER_SESSION })));
  const list = (who: typeof agent, project_id: string | undefined, limit = 50) =>
    site.relay.agents.listSessions(who, { project_id, limit });
  t.equal((await list(agent, undefined)).sessions.length, 2);
  t.equal((await list(agent, PROJECT, 1)).sessions.length, 1);
  t.equal((await list(stranger, undefined)).sessions.length, 0);
  await t.rejects(list(stranger, PROJECT), { message: /Project not found or access removed/ });
  await t.rejects(queue(site, stranger), { message: /not found or not shared/ });
  for (const name of ['__proto__', 'constructor', 'toString']) {
    await t.rejects(list(agent, name), { message: /Project not found/ }, name);
    await t.rejects(queue(site, agent, { graph_session_id: name }), { message: /not found or not shared/ }, name);
  }
});

t.test('a run of a project that its agent may not use any more is not there for it', async (t) => {
  const { site, agent } = await connectedSite();
  const { command_id } = await queue(site, agent);
  const narrowed = { ...agent, projects: ['elsewhere'] };
  await t.rejects(read(site, narrowed, command_id), { message: RUN_NOT_FOUND });
  await t.rejects(cancel(site, narrowed, command_id), { message: RUN_NOT_FOUND });
  t.equal((await read(site, agent, command_id)).status, 'queued');
});

t.test('an agent of several projects has to say which one', async (t) => {
  const { site } = await connectedSite();
  const { agent } = await newAgent(site, 'two', [PROJECT, 'second']);
  const ask = site.relay.agents.listSessions(agent, { project_id: undefined, limit: 50 });
  await t.rejects(ask, { message: /home, second/ });
});

t.test('a project that the relay does not know is refused by name, and the others are served', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const unknown = { project_id: 'nowhere', sessions: [session()] };
  const { data } = await desk.sync({ projects: [...shares(session()).projects, unknown] });
  t.match(data?.refused_projects, [{ project_id: 'nowhere', reason: /no such project/ }]);
  t.equal(data?.refused_projects.length, 1);
  t.equal((await queue(site, agent)).status, 'queued');
});

t.test('a project that is removed takes its waiting runs with it', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  await site.store.commit([{ table: 'project', id: PROJECT, row: null }]);
  const { data } = await desk.sync();
  t.match(data, { commands: [], refused_projects: [{ project_id: PROJECT }] });
  t.match(rowOf(site, command_id), { status: 'cancelled', error: NOT_SHARED });
});

t.test('what is shared is known after a kill of the relay, before any desktop has come back', async (t) => {
  const { site, agent } = await connectedSite();
  const after = restarted(site);
  const { sessions } = await after.relay.agents.listSessions(agent, { project_id: PROJECT, limit: 50 });
  t.match(sessions, [{ slug: 'hello', desktop: { online: false, last_seen_at: null } }]);
  t.equal((await queue(after, agent)).status, 'queued');
});

t.test('a desktop that shares nothing any more takes nothing away from another', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const other = await newDesk(site, 'second');
  await other.sync(shares(session({ graph_session_id: OTHER_SESSION })));
  const { command_id } = await queue(site, agent);
  await other.sync({ projects: [] });
  t.same(offeredIds(await desk.sync()), [command_id]);
});

t.test('a desktop that claims the session of another cannot take its waiting runs away', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  const copy = await newDesk(site, 'copied data folder');
  t.same(offeredIds(await copy.sync()), []);
  t.same(offeredIds(await desk.sync({ projects: [...shares(session({ version: 2 })).projects] })), [command_id]);
});
