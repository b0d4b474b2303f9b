/** What all commands do alike: suggestions, codes, colours, and that a pipe gets nothing but the answer. */
import { Command } from 'commander';
import t, { type Test } from 'tap';
import { desktopCommand } from '../../desktop-agent/cli.ts';
import { applyConventions } from '../../protocol/host/command-conventions.ts';
import { columns } from '../../protocol/host/terminal.ts';
import { startRelay } from '../process/relay-world.ts';
import {
  COMMAND,
  cleanEnvironment,
  expectProcesses,
  type Finished,
  launch,
  run,
  tempFolder,
  until,
  within,
} from '../process/support.ts';
import { onTerminal } from './support.ts';

expectProcesses(t);

function says(t: Test, ended: Finished, stderr: RegExp): void {
  t.equal(ended.code, 2, 'usage');
  t.match(ended.stderr, stderr);
  t.equal(ended.stdout, '', 'standard output is for answers');
}

t.test('a word that is nearly a command is answered with the command, at each level', async (t) => {
  says(t, await run(t, ['dsktop']), /unknown command 'dsktop'\n\(Did you mean desktop\?\)\n"graph-relay --help"/);
  says(t, await run(t, ['desktop', 'statsu']), /\(Did you mean status\?\)\n"graph-relay desktop --help" says more/);
  says(t, await run(t, ['server', 'statsu']), /\(Did you mean status\?\)\n"graph-relay server --help" says more/);
  says(t, await run(t, ['desktop', 'status', '--jsn']), /\(Did you mean --json\?\)/);
  says(t, await run(t, ['desktop', 'weather']), /unknown command 'weather'\n"graph-relay desktop --help"/);
});

t.test('a command that is missing shows what there is', async (t) => {
  const { code, stderr, stdout } = await run(t, ['token']);
  t.equal(code, 2);
  t.match(stderr, /Commands:\s+create/);
  t.equal(stdout, '');
});

/** What `--help` prints, with what is added before and after it. */
function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (more) => (text += more), getOutHelpWidth: () => 80 }).outputHelp();
  return text;
}

t.test('each command of the desktop says what it does, prints JSON when asked, and fits a terminal', async (t) => {
  const desktop = applyConventions(desktopCommand());
  t.match(helpOf(desktop), /Examples:\n/);
  for (const command of desktop.commands) {
    const name = command.name();
    t.not(command.description(), '', `${name} has a description`);
    t.ok(
      command.options.some(({ long }) => long === '--json'),
      `${name} --json`,
    );
    for (const line of helpOf(command).split('\n')) t.ok(line.length <= 120, `${name}: ${line}`);
  }
});

t.test('a program that pairs a desktop gets the code as JSON', async (t) => {
  const data = await tempFolder(t);
  const { url } = await startRelay(t, data);
  const login = launch(t, ['desktop', 'login', '--json', '--relay', url, '--data', data]);
  const shown = await until('the code', () => login.log[0]);
  t.match(shown, { verification_uri: new RegExp(`^${url}/`), user_code: /^[A-Z-]{8,}$/, expires_at: /^\d{4}-.*Z$/ });
  t.equal(login.stderr, '', 'no words beside it');
});

t.test('colours are there on a terminal, and nowhere else', async (t) => {
  const program = [process.execPath, COMMAND];
  // Node paints nothing where CI is set.
  const env = {
    ...cleanEnvironment(),
    NO_COLOR: undefined,
    FORCE_COLOR: undefined,
    CI: undefined,
    TERM: 'xterm-256color',
  };
  const onScreen = (args: string[], extra = {}) =>
    within(onTerminal(t, [...program, ...args], { env: { ...env, ...extra } }).ended, args.join(' '));
  const ESC = '\u001b[';
  t.match((await onScreen(['desktop', 'statsu'])).screen, `${ESC}31merror:${ESC}39m`);
  t.match((await onScreen(['desktop', 'status', '--help'])).screen, `${ESC}1mUsage:`);
  t.notMatch((await onScreen(['desktop', 'statsu'], { NO_COLOR: '1' })).screen, ESC);
  t.notMatch((await onScreen(['desktop', 'status', '--help'], { NO_COLOR: '1' })).screen, ESC);
  t.notMatch((await run(t, ['desktop', 'status', '--help'], { env: { NO_COLOR: '' } })).stdout, ESC);
});

t.test(
  'a command that does something by itself still runs without words, and its own arguments are its own',
  async (t) => {
    const ran: string[][] = [];
    const program = new Command('tool').action(() => void ran.push([]));
    program
      .command('greet')
      .argument('<name>')
      .action((name) => void ran.push([name]));
    applyConventions(program);
    program.parse([], { from: 'user' });
    program.parse(['greet', 'ada'], { from: 'user' });
    t.same(ran, [[], ['ada']]);
  },
);

t.test('columns are as wide as what is seen', async (t) => {
  t.same(
    columns([
      ['a', 'long one', 'x'],
      ['\u001b[31mbbb\u001b[39m', 'c', ''],
    ]),
    ['a    long one  x', '\u001b[31mbbb\u001b[39m  c'],
  );
});
