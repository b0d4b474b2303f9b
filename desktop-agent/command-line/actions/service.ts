/**
 * What `graph-relay desktop install` and `uninstall` do: write or remove the file, and tell the system.
 *
 * Owns the order, and the words when the system cannot be told.
 */
import { execFile } from 'node:child_process';
import { access, mkdir, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXIT_CODES, ExitError } from '../../../protocol/host/exit-codes.ts';
import { isServed, localSocketPath } from '../../../protocol/host/local-socket.ts';
import { dataDirectory } from '../../../protocol/host/process.ts';
import { siblingModule } from '../../../protocol/host/sibling-module.ts';
import { note, print } from '../../../protocol/host/terminal.ts';
import { AGENTS_FILE } from '../../agents/agents-file.ts';
import { CA_VARIABLE } from '../../dialer/trust.ts';
import { TOKEN_FILE } from '../../login/desktop-access.ts';
import { loginFile } from '../../login/login-file.ts';
import { type ManagerName, managerOf, type ServiceManager, type Step, usualManager } from '../../service/manager.ts';
import type { Service } from '../../service/service-file.ts';
import { type DesktopWords, desktopArguments } from '../options.ts';

export interface ServiceOptions extends DesktopWords {
  readonly manager?: ManagerName;
  readonly json?: boolean;
}

export interface InstallOptions extends ServiceOptions {
  readonly print?: boolean;
  readonly start: boolean;
}

/** The command itself. */
const COMMAND = fileURLToPath(siblingModule('../../../graph-relay', import.meta.url));

/** Where a person may put variables, such as keys of models, for the service alone. It need not be there. */
function environmentFile(folder: string): string {
  return join(folder, 'environment');
}

export async function install(options: InstallOptions): Promise<void> {
  const manager = managerIn(options);
  const service = serviceOf(options);
  const text = manager.text(service);
  if (options.print) {
    process.stdout.write(text);
    return;
  }
  await mkdir(service.folder, { recursive: true });
  await mkdir(dirname(manager.file), { recursive: true });
  await writeFile(manager.file, text, { mode: 0o600 });
  const enabled = await take(manager.enable);
  const busy = await runsByHand(service, manager);
  const start = options.start && !busy && enabled === null;
  const started = start ? await take(manager.start) : null;
  const trouble = enabled ?? started;
  if (trouble !== null) process.exitCode = EXIT_CODES.failure;
  if (options.json) {
    print(
      JSON.stringify({ file: manager.file, enabled: enabled === null, started: start && started === null, trouble }),
    );
    return;
  }
  print(manager.file);
  if (trouble !== null)
    return note(notTold(trouble, options.start ? [...manager.enable, ...manager.start] : manager.enable));
  note(start ? 'The desktop runs, and starts when you log in.' : 'The desktop starts when you log in.');
  if (busy) note('One runs on this data folder already, so it was not started now. Stop that one first.');
  for (const hint of await hints(options, service)) note(hint);
}

export async function uninstall(options: ServiceOptions): Promise<void> {
  const manager = managerIn(options);
  const was = await exists(manager.file);
  const steps = was ? [...(await failed(manager.disable)), ...(await removed(manager))] : [];
  if (options.json) return print(JSON.stringify({ file: manager.file, removed: was, told: steps.length === 0 }));
  if (!was) return note(`There is no service: ${manager.file} is not there.`);
  note(`Removed ${manager.file}. The data folder stays.`);
  for (const step of steps) note(`The system could not be told: ${step}`);
}

async function removed(manager: ServiceManager): Promise<string[]> {
  await rm(manager.file, { force: true });
  return failed(manager.forget);
}

function managerIn(options: ServiceOptions): ServiceManager {
  const name = options.manager ?? usualManager(process.platform);
  if (name === null) {
    throw new ExitError(
      'failure',
      'This system keeps services in a way that is not known here: start "graph-relay desktop" by what it has for that, for example the Task Scheduler of Windows.',
    );
  }
  const { XDG_CONFIG_HOME: config } = process.env;
  return managerOf(name, { home: homedir(), config, uid: process.getuid?.() ?? 0 });
}

function serviceOf(options: ServiceOptions): Service {
  if ('deno' in process.versions) {
    throw new ExitError(
      'failure',
      'Services are written for Node. On Deno, write one with the permissions of the README.',
    );
  }
  const data = dataDirectory(options.data, '.');
  const ca = options.ca ?? process.env[CA_VARIABLE];
  const args = desktopArguments({ ...options, data, ...(ca ? { ca } : {}) });
  const folder = dataDirectory(options.data, 'desktop');
  const service = {
    command: [process.execPath, `--env-file-if-exists=${environmentFile(folder)}`, COMMAND, 'desktop', ...args],
    path: process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
    folder,
  };
  const odd = [...service.command, service.path, service.folder].find((word) => /\p{Cc}/u.test(word));
  if (odd === undefined) return service;
  throw new ExitError(
    'usage',
    `${JSON.stringify(odd)} cannot be in the file of a service: it has a line break or the like.`,
  );
}

/** A desktop that somebody else started holds the folder; the service that is there already is simply started anew. */
async function runsByHand({ folder }: Service, manager: ServiceManager): Promise<boolean> {
  if (!(await isServed(localSocketPath(folder)))) return false;
  return (await failed(manager.active)).length > 0;
}

/** Null when all went well, otherwise why the first one that must not fail did. */
async function take(steps: readonly Step[]): Promise<string | null> {
  for (const { command, mayFail } of steps) {
    const reason = await run(command);
    if (reason !== null && !mayFail) return reason;
  }
  return null;
}

/** All of them, whatever happens to one. */
async function failed(steps: readonly Step[]): Promise<string[]> {
  const reasons: string[] = [];
  for (const { command } of steps) {
    const reason = await run(command);
    if (reason !== null) reasons.push(reason);
  }
  return reasons;
}

function run([program = '', ...args]: readonly string[]): Promise<string | null> {
  return new Promise((done) => {
    execFile(program, args, (error, _stdout, stderr) => {
      if (error === null) return done(null);
      done(`${[program, ...args].join(' ')}: ${stderr.trim().split('\n')[0] || error.message}`);
    });
  });
}

function notTold(trouble: string, steps: readonly Step[]): string {
  const commands = steps.map(({ command }) => `  ${command.join(' ')}`).join('\n');
  return `The file is written, but the system could not be told (${trouble}). In a session of yours, run:\n${commands}`;
}

async function hints(options: InstallOptions, service: Service): Promise<string[]> {
  const said: string[] = [];
  const login = await loginFile(service.folder).read();
  const known = login?.relay === new URL(options.relay).origin || (await exists(join(service.folder, TOKEN_FILE)));
  if (!known) {
    said.push(
      `It has no login for ${options.relay} yet: \`graph-relay desktop login --relay ${options.relay}\`, then install again.`,
    );
  }
  if (COMMAND.includes('_npx'))
    said.push(`${COMMAND} is in a cache that may be emptied: install graph-relay to keep it.`);
  if (!options.agentCommand && !(await exists(join(service.folder, AGENTS_FILE)))) {
    said.push(
      'Agents are answered by a script that only echoes: `graph-relay desktop agents --help` says how to set up others.',
    );
  }
  said.push(`Its log: graph-relay desktop logs -f. Variables for it alone: ${environmentFile(service.folder)}`);
  return said;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
