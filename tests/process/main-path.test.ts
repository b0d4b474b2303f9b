/** The main job with real processes: runs in order, cancelled while they wait, stopped while they run, seen by their agent only. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { RUN_NOT_FOUND } from '../../protocol/texts.ts';
import type { RunView } from '../../server/agent-api.ts';
import { agentProgram } from './agent-program.ts';
import { graphSource, McpCaller, makeToken, shareOnline, startDesktop, startWorld, writeGraph } from './relay-world.ts';
import { expectProcesses, isAlive, until } from './support.ts';

expectProcesses(t);

/** Milliseconds of the step, in epoch time. */
function instant(view: RunView, step: 'queued_at' | 'started_at' | 'finished_at'): number {
  const at = view.timing[step];
  if (at === null) throw new Error(`${view.command_id} has no ${step}: ${view.status}`);
  return Date.parse(at);
}

t.test('five commands at once run one after another, in order, and a cancelled one never runs', async (t) => {
  const world = await startWorld(t);
  const { data, url, desktopToken, agent } = world;
  await writeGraph(data, 'work.js', graphSource('work', "return { n: args.n, said: await agent('do it') };"));
  const program = await agentProgram(t, data, `until [ -e ${join(data, 'go')} ]; do sleep 0.05; done; echo done`);
  const desktop = await startDesktop(t, { data, url, token: desktopToken, args: ['--agent-command', program.command] });
  const session = await shareOnline(data, 'work.js');
  await agent.onlySession();

  const tickets = [];
  for (let n = 1; n <= 6; n += 1) tickets.push(await agent.start(session, { n }));
  const [first, ...rest] = tickets.map(({ command_id }) => command_id) as [string, ...string[]];
  await agent.running(first);
  const doomed = rest[2] as string;
  t.same(
    (await Promise.all(rest.map((id) => agent.get(id)))).map(({ ahead }) => ahead),
    [0, 1, 2, 3, 4],
  );
  t.match(await agent.cancel(doomed), { status: 'cancelled', execution_id: null, timing: { started_at: null } });
  t.equal((await agent.get(rest[3] as string)).ahead, 2, 'the one behind it has moved up');

  await writeFile(join(data, 'go'), '');
  const kept = [first, ...rest.filter((id) => id !== doomed)];
  const views = await Promise.all(kept.map((id) => agent.end(id)));
  for (const view of views) t.equal(view.status, 'completed', view.error ?? '');
  t.same(
    views.map(({ result }) => (result as { n: number }).n),
    [1, 2, 3, 5, 6],
  );
  for (const [index, view] of views.entries()) {
    if (index > 0)
      t.ok(instant(view, 'started_at') >= instant(views[index - 1] as RunView, 'finished_at'), `run ${index + 1}`);
  }
  t.match(await agent.get(doomed), { status: 'cancelled', timing: { started_at: null } });
  t.equal((await program.pids()).length, 5, 'five runs, five agents');
  t.same(await desktop.end(), { code: 0, signal: null });
});

t.test('a running one is stopped: its agent’s process is gone, and the next one runs', async (t) => {
  const world = await startWorld(t);
  const { data, url, desktopToken, agent } = world;
  await writeGraph(data, 'slow.js', graphSource('slow', "return await agent('wait');"));
  // The program has a child of its own, which has to go too.
  const program = await agentProgram(t, data, `sleep 600 & echo $! >> ${join(data, 'marks')}\nwait`);
  await startDesktop(t, { data, url, token: desktopToken, args: ['--agent-command', program.command] });
  const session = await shareOnline(data, 'slow.js');
  await agent.onlySession();
  const { command_id } = await agent.start(session);
  await agent.running(command_id);
  await until('the agent and its child', async () => (await program.pids()).length === 2);
  const pids = await program.pids();
  t.equal(pids.every(isAlive), true);

  await agent.cancel(command_id);
  const view = await agent.end(command_id);
  t.match(view, { status: 'cancelled', error: 'The run was cancelled.' });
  await until('the end of both processes', () => !pids.some(isAlive));
  const next = await agent.start(session);
  t.equal((await agent.running(next.command_id)).status, 'running');
});

t.test('a stopped desktop stops its agents, and tells the relay that the run ended', async (t) => {
  const world = await startWorld(t);
  const { data, url, desktopToken, agent } = world;
  await writeGraph(data, 'slow.js', graphSource('slow', "return await agent('wait');"));
  const program = await agentProgram(t, data, 'exec sleep 600');
  const desktop = await startDesktop(t, { data, url, token: desktopToken, args: ['--agent-command', program.command] });
  const session = await shareOnline(data, 'slow.js');
  await agent.onlySession();
  const { command_id } = await agent.start(session);
  await until('the agent', async () => (await program.pids()).length === 1);
  t.same(await desktop.end('SIGTERM'), { code: 0, signal: null });
  t.match(await agent.get(command_id), { status: 'cancelled', error: 'The desktop was stopped during the run.' });
  t.same((await program.pids()).filter(isAlive), []);
});

t.test('another agent, and a made-up id, get the same words', async (t) => {
  const world = await startWorld(t);
  const { data, url, desktopToken, agent } = world;
  await writeGraph(data, 'quick.js', graphSource('quick', "return 'secret';"));
  await startDesktop(t, { data, url, token: desktopToken });
  const session = await shareOnline(data, 'quick.js');
  await agent.onlySession();
  const { command_id } = await agent.start(session);
  t.equal((await agent.end(command_id)).result, 'secret');
  const other = new McpCaller(url, await makeToken(data, 'agent', 'other'));
  t.equal((await other.sessions()).sessions.length, 1, 'it sees the same project');
  for (const id of [command_id, command_id.toUpperCase(), '00000000-0000-4000-8000-000000000000']) {
    await t.rejects(other.get(id), { message: RUN_NOT_FOUND });
    await t.rejects(other.cancel(id), { message: RUN_NOT_FOUND });
  }
  t.equal((await agent.get(command_id.toUpperCase())).result, 'secret', 'its own agent still has it');
});
