/** The desktop as a service of its user: the files, what their readers make of them, and what the system is told. */
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { Command } from 'commander';
import { parse } from 'plist';
import t, { type Test } from 'tap';
import { addDesktopOptions, desktopArguments } from '../../desktop-agent/command-line/options.ts';
import { launchdPlist, type Service, systemdUnit } from '../../desktop-agent/service/service-file.ts';
import { EXIT_CODES } from '../../protocol/host/exit-codes.ts';
import { startDesktop, startWorld } from '../process/relay-world.ts';
import { COMMAND, expectProcesses, launch, run, tempFolder } from '../process/support.ts';
import { isThere } from './support.ts';

expectProcesses(t);

/** Nothing of it is a plain word. */
const ODD = ['/a folder/with "quotes"', '100% $HOME %h $$x \\n', "it's <b> & ünïcode"];

function service(folder: string): Service {
  return { command: [process.execPath, COMMAND, 'desktop', ...ODD], path: '/usr/bin:/a b/bin', folder };
}

const skip = isThere('systemd-analyze') ? false : 'systemd-analyze is not there';

t.test('the systemd unit is one that systemd takes, and it says when not to start again', { skip }, async (t) => {
  const text = systemdUnit(service('/data folder/desktop'));
  t.match(text, /^RestartPreventExitStatus=2 10 11 20 21 22 23$/m);
  t.match(text, /^Restart=on-failure$/m);
  t.match(text, /^Environment="PATH=\/usr\/bin:\/a b\/bin"$/m);
  const folder = await tempFolder(t);
  const file = join(folder, 'graph-relay-desktop.service');
  await writeFile(file, text);
  const takes = (path: string) => {
    const env = { ...process.env, XDG_RUNTIME_DIR: folder };
    return execFileSync('sh', ['-c', 'systemd-analyze --user verify "$0" 2>&1', path], { env, encoding: 'utf8' });
  };
  t.equal(takes(file), '', 'it says nothing');
  await writeFile(file, text.replace('KillMode=mixed', 'KillMode=gently'));
  t.match(takes(file), /kill mode/, 'and would say what is wrong');
});

t.test('each word of the command reaches the program as it was, in both kinds of file', async (t) => {
  const exec = /^ExecStart=(.*)$/m.exec(systemdUnit(service('/x')))?.[1] ?? '';
  t.same(wordsOfSystemd(exec), service('/x').command);
  const plist = parse(launchdPlist(service('/data & folder/desktop'))) as Record<string, unknown>;
  t.same(plist, {
    Label: 'graph-relay.desktop',
    ProgramArguments: service('').command,
    EnvironmentVariables: { PATH: '/usr/bin:/a b/bin', GRAPH_RELAY_FINAL_EXITS: 'ok' },
    RunAtLoad: true,
    KeepAlive: { SuccessfulExit: false },
    ThrottleInterval: 10,
    ExitTimeOut: 30,
    StandardOutPath: '/dev/null',
    StandardErrorPath: '/data & folder/desktop/service-errors.log',
  });
});

/** By the rules of systemd.service(5), written apart from ours. */
function wordsOfSystemd(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = ''], index) => {
    const plain = word.replaceAll(/\\(.)/g, '$1').replaceAll('%%', '%');
    return index === 0 ? plain : plain.replaceAll('$$', '$');
  });
}

t.test('every option of a desktop is handed on to its service', async (t) => {
  const changed = [
    '--data',
    '/d',
    '--graphs',
    '/g',
    '--relay',
    'https://r.example',
    '--mode',
    'plain',
    '--ca',
    '/c.pem',
  ];
  const more = ['--slots', '3', '--hold', '5s', '--agent-command', 'claude -p', '--log-level', 'warn'];
  const limits = ['--run-tokens', '9', '--run-time', '2m', '--run-agents', '5', '--agents-at-once', '2'];
  const read = (args: string[]) => addDesktopOptions(new Command()).parse(args, { from: 'user' }).opts();
  const given = read([...changed, ...more, ...limits]);
  t.same(read(desktopArguments(given as never)), given);
  const usual = addDesktopOptions(new Command());
  for (const option of usual.options) {
    const name = option.attributeName();
    t.not(given[name], usual.opts()[name], `${option.long} is looked at here`);
  }
  t.match(desktopArguments({ ...given, graphs: 'here' } as never).join(' '), `--graphs ${join(process.cwd(), 'here')}`);
});

interface Machine {
  readonly home: string;
  readonly data: string;
  readonly env: Record<string, string>;
  /** What the system was told so far. */
  told(): Promise<string[]>;
}

/** A home folder, and a systemctl and launchctl that write down what they are told. `is-active` says no. */
async function machine(t: Test, answer = 'exit 0'): Promise<Machine> {
  const home = await tempFolder(t);
  const programs = join(home, 'bin');
  const told = join(home, 'told');
  await mkdir(programs);
  for (const name of ['systemctl', 'launchctl']) {
    const script = `#!/bin/sh\necho "${name} $*" >> '${told}'\ncase "$*" in *is-active*) exit 3 ;; esac\n${answer}\n`;
    await writeFile(join(programs, name), script);
    await chmod(join(programs, name), 0o755);
  }
  const env = { HOME: home, XDG_CONFIG_HOME: '', PATH: [programs, process.env.PATH].join(delimiter) };
  const lines = async () => (await readFile(told, 'utf8').catch(() => '')).split('\n').filter(Boolean);
  return { home, data: join(home, 'data'), env, told: lines };
}

t.test('install writes the file and tells systemd, uninstall takes all back', async (t) => {
  const { home, data, env, told } = await machine(t);
  const desktop = (...args: string[]) => run(t, ['desktop', ...args, '--manager', 'systemd', '--data', data], { env });
  const file = join(home, '.config', 'systemd', 'user', 'graph-relay-desktop.service');

  const printed = await desktop('install', '--print', '--slots', '2');
  t.match(printed, { code: 0, stdout: /"--slots" "2"/, stderr: '' });
  t.same(await told(), [], 'printing does nothing');
  await t.rejects(stat(file));

  const done = await desktop('install', '--slots', '2', '--agent-command', 'claude -p');
  t.match(done, { code: 0, stdout: `${file}\n`, stderr: /The desktop runs, and starts when you log in\./ });
  t.match(done.stderr, /no login for http.*desktop login --relay/);
  t.match(await readFile(file, 'utf8'), `"--data" "${data}"`);
  t.equal((await stat(file)).mode & 0o777, 0o600);
  const systemctl = (words: string) => `systemctl --user ${words}`;
  const enable = ['daemon-reload', 'enable graph-relay-desktop'].map(systemctl);
  t.same(await told(), [...enable, systemctl('restart graph-relay-desktop')]);

  t.match(await desktop('install', '--no-start', '--json'), { code: 0, stdout: /"started":false,"trouble":null/ });
  t.same((await told()).slice(3), enable);

  t.match(await desktop('uninstall'), { code: 0, stdout: '', stderr: `Removed ${file}. The data folder stays.\n` });
  await t.rejects(stat(file));
  t.same((await told()).slice(5), ['disable --now graph-relay-desktop', 'daemon-reload'].map(systemctl));
  t.match(await desktop('uninstall'), { code: 0, stderr: /There is no service/ });
});

t.test('install tells launchd, anew when it knows an older file', async (t) => {
  const { home, data, env, told } = await machine(t);
  const args = ['--manager', 'launchd', '--data', data];
  const file = join(home, 'Library', 'LaunchAgents', 'graph-relay.desktop.plist');
  t.match(await run(t, ['desktop', 'install', ...args], { env }), { code: 0, stdout: `${file}\n` });
  const label = `gui/${process.getuid?.()}/graph-relay.desktop`;
  t.same(await told(), [
    `launchctl enable ${label}`,
    `launchctl bootout ${label}`,
    `launchctl bootstrap gui/${process.getuid?.()} ${file}`,
  ]);
  t.match(await run(t, ['desktop', 'uninstall', ...args], { env }), { code: 0, stderr: /Removed/ });
});

t.test('a system that cannot be told is named with what to do, and a desktop that runs is left alone', async (t) => {
  const broken = await machine(t, 'echo "Failed to connect to bus" >&2; exit 1');
  const args = ['desktop', 'install', '--manager', 'systemd', '--data', broken.data];
  const refused = await run(t, args, { env: broken.env });
  t.match(refused, {
    code: 1,
    stderr: /is written, but .*daemon-reload: Failed to connect to bus.*\n {2}systemctl --user daemon/,
  });

  const world = await startWorld(t);
  await startDesktop(t, { data: world.data, url: world.url, token: world.desktopToken });
  const { env, told } = await machine(t);
  const beside = await run(t, ['desktop', 'install', '--manager', 'systemd', '--data', world.data], { env });
  t.match(beside, { code: 0, stderr: /runs on this data folder already/ });
  t.notOk((await told()).some((line) => line.includes('restart')));
});

t.test('what the unit starts is a desktop that runs, with the variables that are for it alone', async (t) => {
  const { data, url, desktopToken } = await startWorld(t);
  await mkdir(join(data, 'desktop'));
  await writeFile(join(data, 'desktop', 'environment'), `GRAPH_RELAY_TOKEN=${desktopToken}\n`, { mode: 0o600 });
  const printed = await run(t, [
    'desktop',
    'install',
    '--print',
    '--manager',
    'systemd',
    '--data',
    data,
    '--relay',
    url,
  ]);
  t.notMatch(printed.stdout, desktopToken, 'no secret is in it');
  const [program = '', ...args] = wordsOfSystemd(/^ExecStart=(.*)$/m.exec(printed.stdout)?.[1] ?? '');
  const desktop = launch(t, args, { program: [program] });
  await desktop.line('relay.connected');
  t.same(await desktop.end(), { code: 0, signal: null });
});

t.test('a line break does not get into the file of a service', async (t) => {
  const { data, env } = await machine(t);
  const args = ['desktop', 'install', '--print', '--data', data, '--agent-command', 'x\nExecStartPre=evil'];
  t.match(await run(t, args, { env }), { code: 2, stdout: '', stderr: /cannot be in the file of a service/ });
});

t.test('for launchd, ends that another start would not mend are no failures; others are', async (t) => {
  const data = await tempFolder(t);
  const env = { GRAPH_RELAY_FINAL_EXITS: 'ok' };
  const args = ['desktop', '--data', data, '--relay'];
  t.equal((await run(t, [...args, 'http://127.0.0.1:9'])).code, EXIT_CODES.unauthorized);
  t.match(await run(t, [...args, 'http://127.0.0.1:9'], { env }), { code: 0, stderr: /desktop login/ });
  t.match(await run(t, [...args, 'nonsense'], { env }), { code: 0, stderr: /is not the address of a relay/ });
  t.match(await run(t, ['desktop', 'share', 'x', '--project', 'y', '--data', data], { env }), { code: 1 });
});
