/** Completion: what may come next, and that bash, zsh and fish complete it at the press of a key. */
import { execFileSync } from 'node:child_process';
import { access, chmod, mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { Argument, Command, Option } from 'commander';
import t, { type Test } from 'tap';
import { completionOf, type Sources } from '../../protocol/host/completion/candidates.ts';
import { graphSource, startDesktop, startWorld, writeGraph } from '../process/relay-world.ts';
import { COMMAND, cleanEnvironment, expectProcesses, run, tempFolder, until, within } from '../process/support.ts';
import { isThere, onTerminal } from './support.ts';

expectProcesses(t);

function program(): Command {
  const root = new Command('tool').option('-V, --version', 'the version');
  const desk = root.command('desk').description('the desk').option('--data <folder>', 'where');
  desk.addOption(new Option('--mode <mode>', 'how').choices(['auto', 'plain']));
  desk.addOption(new Option('--secret', 'not shown').hideHelp());
  desk.command('share').alias('give').description('share it').argument('<graph>').option('-p, --project <id>', 'whom');
  desk.command('check').argument('[file...]').option('--strict', 'more');
  desk.command('gone', { hidden: true });
  root.command('shell').addArgument(new Argument('<name>').choices(['bash', 'zsh']));
  return root;
}

const sources: Sources = {
  graph: async ({ data }) => [{ word: data === undefined ? 'hello' : `in-${data}`, about: 'Hello' }],
  project: async () => [
    { word: 'home', about: '' },
    { word: 'work', about: '' },
  ],
};

async function next(line: string): Promise<string> {
  const found = await completionOf(program(), line.split(' ').slice(1), sources);
  return found.files ? 'files' : found.candidates.map(({ word }) => word).join(' ');
}

t.test('commands, options of all levels, choices, names and files are read off the tree of commands', async (t) => {
  for (const [line, expected] of [
    ['tool ', 'desk shell help'],
    ['tool d', 'desk'],
    ['tool desk ', 'share check help'],
    ['tool desk share --', '--project --help --data --mode'],
    ['tool desk --m', '--mode'],
    ['tool desk --mode ', 'auto plain'],
    ['tool desk --mode=p', '--mode=plain'],
    ['tool desk --mode = p', 'plain'],
    ['tool desk --mode =', 'auto plain'],
    ['tool desk --data ', 'files'],
    ['tool desk share ', 'hello'],
    ['tool desk give h', 'hello'],
    ['tool desk share ./x', 'files'],
    ['tool desk --data x share ', 'in-x'],
    ['tool desk share hello --data=x --project ', 'home work'],
    ['tool desk share hello -p w', 'work'],
    ['tool desk share hello --project home --', '--help --data --mode'],
    ['tool desk share hello ', ''],
    ['tool desk check a.js ', 'files'],
    ['tool desk check --strict --', '--strict --help --data --mode'],
    ['tool desk check -- --', 'files'],
    ['tool shell z', 'zsh'],
    ['tool nonsense ', ''],
  ] as const) {
    t.equal(await next(line), expected, line);
  }
});

/** A folder with the command in it, and what a shell needs to find it. */
async function installed(t: Test) {
  const folder = await tempFolder(t);
  const command = join(folder, 'graph-relay');
  await writeFile(command, `#!/bin/sh\nexec '${process.execPath}' '${COMMAND}' "$@"\n`);
  await chmod(command, 0o755);
  await writeFile(join(folder, 'draft-of-mine.js'), '');
  const data = join(folder, 'data');
  await writeGraph(data, 'weekly.js', graphSource('weekly-report', 'return 1;'));
  const home = join(folder, 'home');
  await mkdir(home);
  const PATH = [folder, process.env.PATH].join(delimiter);
  // What a shell says of itself differs with its version; the words that it completes do not.
  const env = { ...cleanEnvironment(), PATH, HOME: home, ZDOTDIR: home, TERM: 'dumb', NODE_OPTIONS: '', PS1: '> ' };
  return { folder, data, env: { ...env, GRAPH_RELAY_DATA: data } };
}

/** Ctrl-U: takes the whole line away. */
const CLEAR = '\u0015';

const SHELLS = {
  bash: { program: ['bash', '--norc', '--noprofile', '-i'], load: 'source <(graph-relay completion bash)' },
  zsh: {
    program: ['zsh', '-f', '-i'],
    load: 'autoload -U compinit; compinit -u -D; source <(graph-relay completion zsh)',
  },
};

for (const [name, shell] of Object.entries(SHELLS)) {
  t.test(`${name} completes commands, options and Graphs at the press of a key`, { skip: missing(name) }, async (t) => {
    const { env, folder } = await installed(t);
    const terminal = onTerminal(t, shell.program, { env, cols: 200 });
    // zsh takes the blank that it has put behind a word back again.
    const screen = () => terminal.screen().replaceAll(' \b', '');
    const seen = (text: string) => until(`"${text}" in ${name}: ${screen()}`, () => screen().includes(text));
    terminal.type(`${shell.load}; cd '${folder}'; echo ready-$((1 + 1))\n`);
    await seen('ready-2');
    terminal.type('graph-relay desktop stat\t');
    await seen('graph-relay desktop status');
    terminal.type('--js\t');
    await seen('status --json');
    terminal.type('\n');
    await seen('null');
    terminal.type('graph-relay desktop run week\t');
    await seen('run weekly-report');
    terminal.type('--quiet\n');
    await seen('\n1\r\n');
    terminal.type('graph-relay desktop check draft\t');
    await seen('check draft-of-mine.js');
    terminal.type(`${CLEAR}graph-relay desktop check $(touch evil) w\t${CLEAR}echo over-$((1 + 1))\n`);
    await seen('over-2');
    await t.rejects(access(join(folder, 'evil')), 'nothing of the line is evaluated');
    terminal.type('exit\n');
    await within(terminal.ended, `the end of ${name}`);
  });
}

t.test(
  'fish completes commands, options, Graphs and files, with what they are',
  { skip: missing('fish') },
  async (t) => {
    const { env, folder, data } = await installed(t);
    await writeFile(join(folder, 'draft-of-mine.js'), '');
    const complete = (line: string) => {
      const script = `graph-relay completion fish | source; complete -C "${line}"`;
      return execFileSync('fish', ['--no-config', '-c', script], { env, cwd: folder, encoding: 'utf8' });
    };
    t.match(complete('graph-relay desktop paus'), /^pause\ttake no new runs/);
    t.match(complete('graph-relay desktop share weekly --pro'), /^--project\tthe project/);
    t.equal(complete(`graph-relay desktop run --data ${data} w`), 'weekly-report\tweekly-report\n');
    t.match(complete('graph-relay desktop check draft'), /^draft-of-mine\.js/);
  },
);

t.test('Graphs and projects of a desktop that runs are those that it has', async (t) => {
  const world = await startWorld(t);
  const { data, url, desktopToken } = world;
  const graphs = join(data, 'elsewhere');
  await mkdir(graphs);
  await writeFile(join(graphs, 'there.js'), graphSource('there', 'return 1;'));
  const desktop = await startDesktop(t, { data, url, token: desktopToken, args: ['--graphs', graphs] });
  t.equal((await run(t, ['desktop', 'share', 'there', '--project', 'home', '--data', data])).code, 0);
  const words = async (...line: string[]) => {
    const args = ['completion-words', 'zsh', '--', 'desktop', '--data', data, ...line];
    return (await run(t, args)).stdout;
  };
  t.equal(await words('share', ''), 'there:there\n');
  t.equal(await words('share', 'there', '--project', ''), 'home:1 shared\n');
  t.equal(await words('show', ''), ':files\n', 'nothing has run');
  await world.agent.onlySession();
  const [session] = (await world.agent.sessions()).sessions;
  const { command_id } = await world.agent.start(session?.graph_session_id ?? '');
  await world.agent.end(command_id);
  t.equal(await words('show', ''), `${command_id.slice(0, 8)}:there completed\n`);
  await desktop.end();
  t.equal(await words('replay', ''), `${command_id.slice(0, 8)}:there completed\n`, 'also when it does not run');
});

function missing(shell: string): string | false {
  return isThere(shell) ? false : `${shell} is not there`;
}
