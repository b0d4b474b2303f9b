/** The owner's commands: the same answers whether the desktop runs or not, and an effect at once. */
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { DesktopLocalRouter, ShownSession } from '../../desktop-agent/local-api.ts';
import { localClient } from '../../protocol/host/local-calls.ts';
import type { ListedSession } from '../../server/agent-api.ts';
import { graphSource, PROJECT, shareOnline, startDesktop, startWorld, type World, writeGraph } from './relay-world.ts';
import { expectProcesses, type Finished, run, tempFolder, until } from './support.ts';

expectProcesses(t);

/** One `desktop` command, which must work. */
async function owner(t: Test, data: string, ...args: string[]): Promise<Finished> {
  const ended = await run(t, ['desktop', ...args, '--data', data]);
  t.equal(ended.code, 0, `desktop ${args.join(' ')}: ${ended.stderr}`);
  return ended;
}

async function ownerJson<Answer>(t: Test, data: string, ...args: string[]): Promise<Answer> {
  const { stdout } = await owner(t, data, ...args, '--json');
  t.equal(stdout.trimEnd().split('\n').length, 1, 'one line of JSON');
  return JSON.parse(stdout) as Answer;
}

function start(t: Test, { data, url, desktopToken }: World) {
  return startDesktop(t, { data, url, token: desktopToken });
}

/** What `desktop sessions --json` prints, asked of the running desktop without a process of its own. */
function shownSessions(data: string): Promise<ShownSession[]> {
  return localClient<DesktopLocalRouter>(join(data, 'desktop')).sessions.mutate();
}

/** What agents see, as soon as it is as expected; the relay is asked without waiting for a hold to end. */
function listed(
  world: World,
  fits: (sessions: readonly ListedSession[]) => boolean,
): Promise<readonly ListedSession[]> {
  return until('the list that agents see', async () => {
    const { sessions } = await world.agent.sessions();
    return fits(sessions) && sessions;
  });
}

t.test('sessions, projects and status answer the same with the desktop running and not', async (t) => {
  const world = await startWorld(t);
  const { data } = world;
  await writeGraph(data, 'one.js', graphSource('one', 'return 1;'));
  await writeGraph(data, 'two.js', graphSource('two', 'return 2;'));
  t.same(await ownerJson(t, data, 'projects'), [], 'by default nothing is shared');
  const shared = await ownerJson<{ changed: boolean }>(t, data, 'share', 'one', '--project', PROJECT);
  t.equal(shared.changed, true);

  const questions = ['sessions', 'projects'];
  const offline = await Promise.all(questions.map((each) => ownerJson(t, data, each)));
  t.same(await ownerJson(t, data, 'status'), null);
  t.match(await owner(t, data, 'status'), { stdout: 'not running\n' });

  const desktop = await start(t, world);
  await desktop.line('relay.connected');
  const online = await Promise.all(questions.map((each) => ownerJson(t, data, each)));
  t.same(online, offline);
  t.match(await ownerJson(t, data, 'status'), {
    connected: true,
    transport: { transport: 'long-poll' },
    running: 0,
    outbox: { pending: 0 },
  });
  t.match(await owner(t, data, 'status'), {
    stdout: /^connected \(long-poll, epoch 1\): the first choice\n0 running, 0 completions/,
  });
  t.match(await owner(t, data, 'projects'), { stdout: 'home  1 shared\n' });
  const [sessions] = online as [ShownSession[]];
  t.same(
    sessions.map(({ slug, projects }) => [slug, projects]),
    [
      ['one', [PROJECT]],
      ['two', []],
    ],
  );
});

t.test('share and unshare are seen by agents at once, by slug, file name and id, and all together', async (t) => {
  const world = await startWorld(t);
  const { data } = world;
  for (const name of ['one', 'two', 'three']) await writeGraph(data, `${name}.js`, graphSource(name, 'return 1;'));
  const desktop = await start(t, world);
  await desktop.line('relay.connected');
  const threeId = (await shownSessions(data)).find(({ slug }) => slug === 'three')?.graph_session_id ?? '';
  await owner(t, data, 'share', threeId, '--project', PROJECT);
  for (const reference of ['one', 'two.js']) await shareOnline(data, reference);
  const sessions = await listed(world, (all) => all.length === 3);

  // The held request says what was shared before; a hold lasts 20 s, and none ends in this test.
  await owner(t, data, 'unshare', 'two', '--project', PROJECT);
  const left = await listed(world, (all) => all.length === 2);
  t.same(left.map(({ slug }) => slug).sort(), ['one', 'three']);
  const gone = sessions.find(({ slug }) => slug === 'two')?.graph_session_id ?? '';
  await t.rejects(world.agent.start(gone), { message: /not found or not shared/ });
  t.match(await owner(t, data, 'unshare', 'two', '--project', PROJECT), { stderr: /was not shared/ });

  t.same(await ownerJson(t, data, 'unshare', '--all', '--project', PROJECT), { project_id: PROJECT, changed: true });
  await listed(world, (all) => all.length === 0);
  t.notOk(desktop.isOver);
});

t.test('edits, renames and broken files of a running desktop keep the identity of their session', async (t) => {
  const world = await startWorld(t);
  const { data } = world;
  const path = await writeGraph(data, 'work.js', graphSource('work', 'return 1;'));
  const desktop = await start(t, world);
  await shareOnline(data, 'work.js');
  const [first] = await listed(world, ([only]) => only?.version === 1);
  const id = first?.graph_session_id;

  await writeGraph(data, 'work.js', graphSource('work', 'return 2;'));
  const [edited] = await listed(world, ([only]) => only?.version === 2);
  t.match(edited, { graph_session_id: id, status: 'ready' });
  const run2 = await world.agent.start(id ?? '');
  t.equal((await world.agent.end(run2.command_id)).result, 2, 'the new text runs');

  await rename(path, join(data, 'graphs', 'renamed.js'));
  const renamed = await until('the new name', async () => {
    const [only] = await shownSessions(data);
    return only?.file_name === 'renamed.js' && only;
  });
  t.match(renamed, { graph_session_id: id, version: 2, projects: [PROJECT] });

  await writeGraph(data, 'renamed.js', `${graphSource('work', '')}\nreturn (;\n`);
  const [broken] = await listed(world, ([only]) => only?.status === 'broken');
  t.match(broken, { graph_session_id: id, version: 3, slug: 'work' });
  t.match(await owner(t, data, 'sessions'), { stdout: /BROKEN: renamed\.js:4:9: / });
  await t.rejects(world.agent.start(id ?? ''), { message: /does not parse at the moment/ });

  await desktop.end();
  const again = await start(t, world);
  await again.line('relay.connected');
  const [after] = await shownSessions(data);
  t.match(after, { graph_session_id: id, version: 3, status: 'broken' }, 'a restart keeps it');
  await writeGraph(data, 'renamed.js', graphSource('work', 'return 4;'));
  const [mended] = await listed(world, ([only]) => only?.version === 4);
  t.match(mended, { graph_session_id: id, status: 'ready' });
});

t.test('a reference that is unknown, or stands for two, is refused with what there is', async (t) => {
  const data = await tempFolder(t);
  for (const file of ['a.js', 'b.js']) await writeGraph(data, file, graphSource('same', `return '${file}';`));
  for (const reference of ['same', 'nothing']) {
    const ended = await run(t, ['desktop', 'share', reference, '--project', PROJECT, '--data', data]);
    t.equal(ended.code, 1);
    t.match(ended.stderr, /There is no single Graph session .*Known: same, same\./);
  }
});
