/** Tools in the history: who waits for whom, who decided what, and a replay that calls nothing unless it may. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import type { RunSummary } from '../../desktop-agent/runs/record-reader.ts';
import { shareOnline, startDesktop, startWorld, writeGraph } from '../process/relay-world.ts';
import { expectProcesses, LIGHT, run, until } from '../process/support.ts';
import { oddServer } from '../tools/support.ts';

expectProcesses(t);

const PIDS = `export const meta = { name: 'Pids', slug: 'pids', tools: ['odd.pid'] };
return { first: await tool('odd.pid', { n: 1 }), second: await tool('odd.pid', { n: 2 }) };
`;

t.test('a run that waits for its owner is listed as such, and its decisions are shown and replayed', async (t) => {
  const world = await startWorld(t);
  const { data } = world;
  await mkdir(join(data, 'desktop'), { recursive: true });
  await writeFile(join(data, 'desktop', 'tools.json'), JSON.stringify({ mcpServers: { odd: oddServer() } }));
  await writeGraph(data, 'pids.js', PIDS);
  const desktop = await startDesktop(t, { data, url: world.url, token: world.desktopToken, env: LIGHT });
  const session = await shareOnline(data, 'pids.js');
  await world.agent.onlySession();
  const owner = (...args: readonly string[]) => run(t, ['desktop', ...args, '--data', data], { env: LIGHT });

  const { command_id } = await world.agent.start(session);
  const waiting = await until('the run to wait for its owner', async () => {
    const [only] = JSON.parse((await owner('runs', '--json')).stdout) as RunSummary[];
    return only?.waits_for !== null && only;
  });
  t.match(waiting, { command_id, status: 'awaiting_approval', waits_for: 'odd.pid' });
  t.match((await owner('runs')).stdout, /waits for approval of odd\.pid/);
  t.equal((await owner('approve', '--for', 'run')).code, 0);
  const { result } = (await world.agent.end(command_id)) as { result: { first: string; second: string } };
  t.match(
    (await owner('show', 'last')).stdout,
    /\? odd\.pid waits for your approval[\s\S]*✓ odd\.pid: allowed for this run/,
  );
  await desktop.end();

  const replay = async (...more: string[]) => JSON.parse((await owner('replay', 'last', '--json', ...more)).stdout);
  const again = await replay();
  t.match(again, { same_events: true, same_end: true, result }, 'the server that said this has ended');
  t.match(again.reused, [{ kind: 'tool', name: 'odd.pid' }, { kind: 'tool' }]);

  await writeGraph(data, 'edited.js', PIDS.replace("'pids'", "'edited'").replace('n: 2', 'n: 3'));
  t.match(await replay('--graph', 'edited'), {
    error: /ToolRefused: the call of odd\.pid is not in the record of this run: a replay asks nobody/,
  });
  t.match(await replay('--graph', 'edited', '--ask'), { error: /ToolRefused: the owner did not allow odd\.pid/ });
  t.equal((await owner('tools', 'allow', 'odd.pid')).code, 0);
  const asked = await replay('--graph', 'edited', '--ask');
  t.match(asked, { status: 'completed', asked: [{ kind: 'tool', name: 'odd.pid' }], result: { first: result.first } });
  t.match(asked.differences, [{ path: 'result.second', before: result.second }]);
});
