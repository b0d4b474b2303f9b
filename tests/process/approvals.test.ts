/**
 * The whole way of an approval, through real processes: a Graph calls a tool of a server, its caller sees that the owner is
 * asked, the owner decides on the command line, and the run goes on.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { OpenApproval } from '../../desktop-agent/tools/approvals.ts';
import type { RunView } from '../../server/agent-api.ts';
import { areInstalled, entryOf } from '../tools/programs.ts';
import { oddServer } from '../tools/support.ts';
import { shareOnline, startDesktop, startWorld, type World, writeGraph } from './relay-world.ts';
import { expectProcesses, type Finished, isAlive, LIGHT, type Running, run, until } from './support.ts';

expectProcesses(t);

const SECRET_INPUT = 'what only the owner may read';

function graph(body: string, tools = "['odd.*']"): string {
  return `export const meta = { name: 'Tools', slug: 'tools', tools: ${tools} };\n${body}\n`;
}

const ONE_CALL = graph(`return await tool('odd.large', { chars: 5, note: '${SECRET_INPUT}' });`);

interface Site extends World {
  readonly desktop: Running;
  /** A command of the owner on this folder. */
  readonly owner: (...args: readonly string[]) => Promise<Finished>;
  /** Starts the Graph, and waits until it waits for its owner. */
  readonly parked: () => Promise<{ id: string; view: RunView }>;
  readonly approvals: () => Promise<OpenApproval[]>;
}

async function openSite(t: Test, source: string, servers: object = { odd: oddServer() }): Promise<Site> {
  const world = await startWorld(t);
  await mkdir(join(world.data, 'desktop'), { recursive: true });
  await writeFile(join(world.data, 'desktop', 'tools.json'), JSON.stringify({ mcpServers: servers }));
  await writeGraph(world.data, 'tools.js', source);
  const desktop = await startDesktop(t, { data: world.data, url: world.url, token: world.desktopToken, env: LIGHT });
  const session = await shareOnline(world.data, 'tools.js');
  await world.agent.onlySession();
  const owner = (...args: readonly string[]) => run(t, ['desktop', ...args, '--data', world.data]);
  const parked = async () => {
    const { command_id: id } = await world.agent.start(session);
    // Held: it ends with the run's start, and again with the question.
    const view = await until('the owner to be asked', async () => {
      const seen = await world.agent.get(id, 20);
      if (seen.status !== 'queued' && seen.status !== 'running')
        throw new Error(`the run is ${seen.status}: ${seen.error}`);
      return seen.awaiting_approval && seen;
    });
    return { id, view };
  };
  const approvals = async () => JSON.parse((await owner('approvals', '--json')).stdout) as OpenApproval[];
  return { ...world, desktop, owner, parked, approvals };
}

t.test(
  'the caller sees the tool and since when, the owner sees the input and allows it, and the run completes',
  async (t) => {
    const site = await openSite(t, ONE_CALL);
    const before = Date.now();
    const { id, view } = await site.parked();
    t.equal(view.status, 'running');
    t.same(Object.keys(view.awaiting_approval!), ['tool', 'since']);
    t.equal(view.awaiting_approval!.tool, 'odd.large');
    const since = Date.parse(view.awaiting_approval!.since);
    t.ok(since >= before - 1_000 && since <= Date.now() + 1_000, view.awaiting_approval!.since);
    t.equal(view.check_after_seconds, 30);
    t.notMatch(JSON.stringify(view), SECRET_INPUT);

    const shown = await site.owner('approvals');
    t.match(
      shown.stdout,
      new RegExp(
        `^[0-9a-f]{6}  odd\\.large  waits .*, for run ${id}\\n  \\{\\n    "chars": 5,\\n    "note": "${SECRET_INPUT}"`,
      ),
    );
    t.match(shown.stderr, /graph-relay desktop approve [0-9a-f]{6} --data/);
    const approved = await site.owner('approve');
    t.match(approved, {
      code: 0,
      stdout: '',
      stderr:
        /^[0-9a-f]{6} {2}odd\.large {2}waits .*"chars": 5.*\nAllowed odd\.large \([0-9a-f]{6}\) for this call\.\n$/s,
    });
    t.match(await site.agent.end(id), { status: 'completed', result: 'xxxxx' });
    t.notOk('awaiting_approval' in (await site.agent.get(id)));
    t.match(await site.desktop.line('approval.decided'), {
      command_id: id,
      tool: 'odd.large',
      decision: 'allow',
      scope: 'call',
    });
    t.notMatch(site.process.stdout + site.desktop.stdout, SECRET_INPUT, 'no log has the input');
  },
);

t.test('a denied call is an error that the Graph can catch', async (t) => {
  const site = await openSite(
    t,
    graph(`try { await tool('odd.pid', {}); } catch (error) { return error.name + ': ' + error.message; }`),
  );
  const { id } = await site.parked();
  const [{ approval }] = (await site.approvals()) as [OpenApproval];
  t.match(await site.owner('deny', approval, '--json'), { code: 0, stdout: new RegExp(`"approval":"${approval}"`) });
  t.match(await site.agent.end(id), { status: 'completed', result: 'ToolRefused: the owner did not allow odd.pid' });
});

t.test('a cancel takes the question back, and nobody can answer it any more', async (t) => {
  const site = await openSite(t, ONE_CALL);
  const { id } = await site.parked();
  await site.agent.cancel(id);
  t.match(await site.agent.end(id), { status: 'cancelled' });
  await until('the question to be taken back', async () => (await site.approvals()).length === 0);
  const late = await site.owner('approve');
  t.match(late, { code: 1, stderr: 'graph-relay: Nothing waits for a decision. [invalid-input]\n' });
  t.match(await site.owner('approvals'), { code: 0, stdout: '', stderr: 'Nothing waits for a decision.\n' });
});

t.test(
  '"for this run" is asked once a run, "from now on" never again, also after a restart of the desktop',
  async (t) => {
    const site = await openSite(
      t,
      graph(`const pids = []; for (let n = 0; n < 3; n++) pids.push(await tool('odd.pid', {})); return pids.length;`),
    );
    const first = await site.parked();
    t.match(await site.owner('approve', '--for', 'run'), { stderr: /for the rest of this run/ });
    t.match(await site.agent.end(first.id), { result: 3 });
    const second = await site.parked();
    await site.owner('approve', '--for', 'always');
    t.match(await site.agent.end(second.id), { result: 3 });
    await site.desktop.end();
    await startDesktop(t, { data: site.data, url: site.url, token: site.desktopToken, env: LIGHT });
    const { command_id } = await site.agent.start(await site.agent.onlySession());
    t.match(await site.agent.end(command_id), { status: 'completed', result: 3 });
    const tools = JSON.parse((await site.owner('tools', '--json')).stdout);
    t.match(tools.permissions, [{ pattern: 'odd.pid', rule: 'allow' }]);
  },
);

t.test('a tool that the Graph does not name is refused before its owner is asked', async (t) => {
  const site = await openSite(t, graph(`return await tool('odd.pid', {});`, "['odd.large']"));
  const { command_id } = await site.agent.start(await site.agent.onlySession());
  t.match(await site.agent.end(command_id), { status: 'failed', error: /"odd\.pid" is not named in `meta\.tools`/ });
  t.same(await site.approvals(), []);
});

t.test('a desktop that is killed while its owner is asked leaves no server behind, and the run ends', async (t) => {
  const site = await openSite(t, graph(`await tool('odd.pid', {}); return 1;`));
  await site.owner('tools', 'allow', 'odd.child');
  const { id } = await site.parked();
  const pids = await serverPids(site.desktop.pid);
  t.equal(pids.length, 1);
  await site.desktop.end('SIGKILL');
  await until('its tool server to be gone', () => !pids.some(isAlive));
  await startDesktop(t, { data: site.data, url: site.url, token: site.desktopToken, env: LIGHT });
  const end = await site.agent.end(id);
  t.match(end, { status: 'failed', error: /restarted during the run/ });
  t.notOk('awaiting_approval' in end);
  t.same(await site.approvals(), [], 'nothing of it survives');
});

t.test('a desktop that is stopped ends its servers', async (t) => {
  const site = await openSite(t, ONE_CALL);
  await site.parked();
  const pids = await serverPids(site.desktop.pid);
  t.match(await site.desktop.end(), { code: 0 });
  t.same(pids.map(isAlive), [false]);
});

/** The processes that this one has started and that live. */
async function serverPids(parent: number): Promise<number[]> {
  const children = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8');
  return children.trim().split(' ').filter(Boolean).map(Number);
}

t.test('a server of others writes a file when its owner has allowed it, and not before', async (t) => {
  if (!areInstalled(t)) return;
  const site = await openSite(t, 'export const meta = { name: "x" };\nreturn 1;');
  const folder = join(site.data, 'files');
  await mkdir(folder);
  const path = join(folder, 'note.txt');
  const servers = { files: entryOf('server-filesystem', folder) };
  await writeFile(join(site.data, 'desktop', 'tools.json'), JSON.stringify({ mcpServers: servers }));
  const body = `await tool('files.write_file', { path: ${JSON.stringify(path)}, content: 'written' });
return (await tool('files.read_text_file', { path: ${JSON.stringify(path)} })).content;`;
  await writeGraph(site.data, 'tools.js', graph(body, "['files.*']"));
  await site.owner('tools', 'allow', 'files.read_*');
  const { id, view } = await site.parked();
  t.equal(view.awaiting_approval?.tool, 'files.write_file');
  await t.rejects(readFile(path), { code: 'ENOENT' });
  await site.owner('approve');
  t.match(await site.agent.end(id), { status: 'completed', result: 'written' });
  t.equal(await readFile(path, 'utf8'), 'written');
});
