/** `desktop watch` on a real terminal and in a pipe, of a real desktop that runs Graphs for real agents. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { agentProgram } from '../process/agent-program.ts';
import { graphSource, shareOnline, startDesktop, startWorld, type World, writeGraph } from '../process/relay-world.ts';
import { COMMAND, cleanEnvironment, expectProcesses, LIGHT, launch, tempFolder, until } from '../process/support.ts';
import { oddServer } from '../tools/support.ts';
import { noTmux, Tmux } from './support.ts';

expectProcesses(t);

interface Watched extends World {
  /** Starts the Graph. */
  readonly start: () => Promise<string>;
  readonly desktop: Awaited<ReturnType<typeof startDesktop>>;
}

async function running(t: Test, source: string, args: readonly string[] = []): Promise<Watched> {
  const world = await startWorld(t);
  const { data, url, desktopToken, agent } = world;
  await mkdir(join(data, 'desktop'), { recursive: true });
  await writeFile(join(data, 'desktop', 'tools.json'), JSON.stringify({ mcpServers: { odd: oddServer() } }));
  await writeGraph(data, 'watched.js', source);
  const desktop = await startDesktop(t, { data, url, token: desktopToken, args, env: LIGHT });
  const session = await shareOnline(data, 'watched.js');
  await agent.onlySession();
  return { ...world, desktop, start: async () => (await agent.start(session)).command_id };
}

/** In a shell, which says when it is over. */
function watchOn(t: Test, data: string, size: { cols: number; rows: number } = { cols: 80, rows: 24 }): Tmux {
  const env = { ...cleanEnvironment(), ...LIGHT };
  const command = `echo before; '${process.execPath}' '${COMMAND}' desktop watch --data '${data}'; echo "after $?"; exec cat`;
  return new Tmux(t, command, { env, ...size });
}

function shows(terminal: Tmux, what: RegExp): Promise<string> {
  return until(`${what} in\n${terminal.picture().join('\n')}`, () =>
    terminal.picture().find((line) => what.test(line)),
  );
}

t.test(
  'a question is seen, allowed with a key, and the run goes on; the terminal is left as it was',
  { skip: noTmux },
  async (t) => {
    const source = `export const meta = { name: 'Watched', slug: 'watched', tools: ['odd.*'] };
phase('Asking'); return await tool('odd.large', { chars: 5, note: 'for the owner' });\n`;
    const site = await running(t, source);
    const terminal = watchOn(t, site.data);
    await shows(terminal, /● connected, long-poll/);
    await shows(terminal, /^ {2}nothing/);
    const id = await site.start();
    await shows(terminal, /^▸ odd\.large {2}for watched, since/);
    await shows(terminal, /"note":"for the owner"/);
    await shows(terminal, new RegExp(`watched v1 ${id.slice(0, 8)} {2}waits`));
    await shows(terminal, /── Asking/);
    t.match(terminal.picture()[0], /^Graph Relay {47}● connected, long-poll$/, 'to the last column');
    t.match(terminal.picture().at(-1), /^a allow {2}A for this run .* q quit$/, 'to the last row');
    terminal.type('a');
    await shows(terminal, /odd\.large: allowed\./);
    await shows(terminal, new RegExp(`✓ watched ${id.slice(0, 8)} `));
    t.match(await site.agent.end(id), { status: 'completed' });
    terminal.type('q');
    await shows(terminal, /^after 0$/);
    t.equal(terminal.picture()[0], 'before', 'what stood there is back');
    t.same(
      ['alternate_on', 'cursor_flag', 'wrap_flag'].map((name) => terminal.state(name)),
      ['0', '1', '1'],
    );
  },
);

t.test('a run is cancelled with a key that is pressed twice, in a narrow terminal', { skip: noTmux }, async (t) => {
  const source = graphSource('watched', "await agent('wait', { label: 'slow one' });");
  const program = await agentProgram(t, await tempFolder(t), 'sleep 600 & wait');
  const site = await running(t, source, ['--agent-command', program.command]);
  const terminal = watchOn(t, site.data, { cols: 40, rows: 16 });
  const id = await site.start();
  await shows(terminal, /▸ slow one/);
  t.equal(terminal.picture()[0], '● connected, long-poll');
  terminal.resize(100, 30);
  await shows(terminal, /^Graph Relay {67}● connected, long-poll$/);
  await shows(terminal, /^▸ watched v1 .{60,} s$/);
  terminal.resize(40, 16);
  await shows(terminal, /^● connected, long-poll$/);
  terminal.type('c');
  await shows(terminal, /c again ca/);
  t.match(await site.agent.get(id), { status: 'running' }, 'once is not enough');
  terminal.type('c');
  const ended = await site.agent.end(id);
  t.match(ended, { status: 'cancelled', error: /owner cancelled/ });
  await shows(terminal, /⊘ watched/);
  terminal.press('C-c');
  t.ok(await shows(terminal, /^after 0$/));
});

t.test('it waits for a desktop that does not run, and follows it over its end', { skip: noTmux }, async (t) => {
  const site = await running(t, graphSource('watched', 'return 1;'));
  await site.desktop.end();
  const terminal = watchOn(t, site.data);
  await shows(terminal, /○ not running/);
  const { data, url, desktopToken } = site;
  const again = await startDesktop(t, { data, url, token: desktopToken, env: LIGHT });
  await shows(terminal, /● connected/);
  await again.end();
  t.ok(await shows(terminal, /○ not running/));
});

t.test('in a pipe each event is a line, for people or as JSON', async (t) => {
  const site = await running(
    t,
    graphSource('watched', "phase('One'); await agent('x', { label: 'asker' }); return 1;"),
  );
  const args = ['desktop', 'watch', '--data', site.data];
  const people = launch(t, args, { env: LIGHT });
  const json = launch(t, [...args, '--json'], { env: LIGHT });
  await until('both to look', async () => {
    // Only what happens from now on is shown: the first run that both have seen counts.
    const id = await site.start();
    await site.agent.end(id);
    return [people, json].every(({ stdout }) => stdout.includes('finished') || stdout.includes('completed'));
  });
  const id = await site.start();
  await site.agent.end(id);
  const short = id.slice(0, 8);
  await until('the end in both', () => people.stdout.includes(`${short} completed`) && json.stdout.includes(id));
  const lines = people.stdout.split('\n').filter((line) => line.includes(short));
  t.match(lines.join('\n'), /── One\n.* ▸ asker\n.* ✓ asker {2}\d+ tokens, .*\n.*completed$/);
  await until('the last event', () =>
    json.log.some((line) => line.command_id === id && (line.event as unknown as { type: string }).type === 'finished'),
  );
});
