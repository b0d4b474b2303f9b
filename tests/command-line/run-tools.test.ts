/** `desktop run` of a Graph that calls tools: what the owner has allowed, and who is asked about the rest. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { ShownTools } from '../../desktop-agent/tools/tools-api.ts';
import { plain } from '../../protocol/host/terminal.ts';
import { startDesktop, startWorld, writeGraph } from '../process/relay-world.ts';
import { COMMAND, cleanEnvironment, expectProcesses, LIGHT, run, tempFolder, until } from '../process/support.ts';
import { oddServer } from '../tools/support.ts';
import { onTerminal } from './support.ts';

expectProcesses(t);

const GRAPH = `export const meta = { name: 'Tools', slug: 'tools', tools: ['odd.*'] };
const pids = [];
for (let n = 0; n < 2; n++) pids.push(await tool('odd.pid', { n }));
return pids.length;
`;

async function prepare(data: string): Promise<void> {
  await mkdir(join(data, 'desktop'), { recursive: true });
  await writeFile(join(data, 'desktop', 'tools.json'), JSON.stringify({ mcpServers: { odd: oddServer() } }));
  await writeGraph(data, 'tools.js', GRAPH);
}

function onScreen(t: Test, data: string) {
  const program = [process.execPath, COMMAND, 'desktop', 'run', 'tools', '--data', data];
  const terminal = onTerminal(t, program, { env: { ...cleanEnvironment(), ...LIGHT } });
  const asked = (count: number) =>
    until(`question ${count}`, () => terminal.screen().split('Allow it?').length === count + 1);
  return { ...terminal, asked };
}

t.test('an allowed tool is called; about another one nobody can be asked without a terminal', async (t) => {
  const data = await tempFolder(t);
  await prepare(data);
  const refused = await run(t, ['desktop', 'run', 'tools', '--data', data]);
  t.equal(refused.code, 30, refused.stderr);
  t.match(
    refused.stderr,
    /odd\.pid is not allowed, and nobody can be asked here: `graph-relay desktop tools allow odd\.pid --data /,
  );
  t.match(refused.stderr, /the owner did not allow odd\.pid/);
  await run(t, ['desktop', 'tools', 'allow', 'odd.*', '--data', data]);
  const allowed = await run(t, ['desktop', 'run', 'tools', '--data', data]);
  t.match(allowed, { code: 0, stdout: '2\n' });
});

t.test('who runs it is asked on the terminal, about one call or about the run', async (t) => {
  const data = await tempFolder(t);
  await prepare(data);
  const each = onScreen(t, data);
  await each.asked(1);
  t.match(plain(each.screen()), /odd\.pid waits .* "n": 0/);
  each.type('y\n');
  await each.asked(2);
  each.type('no\n');
  t.match(await each.ended, { code: 30, screen: /the owner did not allow odd\.pid/ });
  const whole = onScreen(t, data);
  await whole.asked(1);
  whole.type('r\n');
  const { code, screen } = await whole.ended;
  t.equal(code, 0, screen);
  t.equal(screen.split('Allow it?').length, 2, 'asked once');
});

t.test('"from now on" is kept, by the desktop that runs as well, and Ctrl-C ends a run that asks', async (t) => {
  const world = await startWorld(t);
  await prepare(world.data);
  await startDesktop(t, { data: world.data, url: world.url, token: world.desktopToken, env: LIGHT });
  const stopped = onScreen(t, world.data);
  await stopped.asked(1);
  stopped.type('\u0003');
  t.match(await stopped.ended, { code: 130, screen: /cancelled/ });
  const kept = onScreen(t, world.data);
  await kept.asked(1);
  kept.type('a\n');
  t.match(await kept.ended, { code: 0 });
  const shown = await run(t, ['desktop', 'tools', '--json', '--data', world.data]);
  t.match((JSON.parse(shown.stdout) as ShownTools).permissions, [{ pattern: 'odd.pid', rule: 'allow' }]);
});
