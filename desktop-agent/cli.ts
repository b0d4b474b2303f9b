/**
 * `graph-relay desktop`: the command line of the desktop.
 *
 * Owns words and options only; what a command does is imported when it is asked for, so that `--help` is quick.
 */
import { Command, Option } from 'commander';
import { ExitError } from '../protocol/host/exit-codes.ts';
import { countOption, durationOption } from '../protocol/host/limit-options.ts';
import { LOG_LEVELS, type LogLevel } from '../protocol/host/log-levels.ts';
import { CAPACITY_MAX, HOLD_MAX_MS } from '../protocol/limits.ts';
import { MODE_NAMES, type ModeName } from './modes.ts';

/** Shorter than a second is polling. */
const HOLD = { name: 'hold', min: 1_000, max: HOLD_MAX_MS, usual: HOLD_MAX_MS };

const DATA = ['--data <folder>', 'where the state is kept (or GRAPH_RELAY_DATA; default .graph-relay)'] as const;
const CA = ['--ca <file>', 'certificates (PEM) to trust beside the usual ones (or GRAPH_RELAY_CA)'] as const;

function relayOption(): Option {
  const usual = process.env.GRAPH_RELAY_URL ?? 'http://127.0.0.1:7420';
  return new Option('--relay <url>', 'address of the relay').default(usual);
}

/** Also at the top: whoever needs it may not have a desktop yet. */
export function doctorCommand(): Command {
  return describedDoctor(
    new Command('doctor')
      .addOption(relayOption())
      .option(...DATA)
      .option(...CA),
  );
}

export function desktopCommand(): Command {
  const desktop = new Command('desktop')
    .description('run this machine as a desktop, or see and change what it shares')
    .option(...DATA)
    .option('--graphs <folder>', 'the folder with the *.js Graphs (default: graphs in the data folder)')
    .addOption(relayOption())
    .addOption(new Option('--mode <mode>', 'how to ask for work').choices(MODE_NAMES).default('auto'))
    .option(...CA)
    .addOption(countOption({ name: 'slots', unit: 'runs', what: 'runs at once', min: 1, max: CAPACITY_MAX, usual: 1 }))
    .addOption(durationOption({ ...HOLD, what: 'longest hold to ask for; shorter ones cost more requests' }))
    .option(
      '--agent-command <command>',
      'program that answers agents: prompt on standard input (split at blanks, no shell)',
    )
    .addOption(new Option('--log-level <level>', 'what is logged').choices(LOG_LEVELS).default('info'))
    .addHelpText(
      'after',
      `
A desktop is let in by its login ("graph-relay desktop login"), or by a token in GRAPH_RELAY_TOKEN or in the file
desktop/token in the data folder.
Without --agent-command, agents are answered by a script that only echoes.

Examples:
  graph-relay desktop login --relay https://relay.example
  graph-relay desktop --relay https://relay.example --agent-command "claude -p"
  graph-relay desktop sessions
  graph-relay desktop share hello --project home
`,
    )
    .action(runAction);
  addSharingCommands(desktop);
  addStateCommands(desktop);
  return desktop;
}

const json = () => new Option('--json', 'print JSON');

/** What is shared. */
function addSharingCommands(desktop: Command): void {
  desktop
    .command('sessions')
    .description('list the Graph sessions of this desktop')
    .addOption(json())
    .action(async (_options, command: Command) => (await owner()).listSessions(command.optsWithGlobals()));
  desktop
    .command('projects')
    .description('list the projects that something is shared with')
    .addOption(json())
    .action(async (_options, command: Command) => (await owner()).listProjects(command.optsWithGlobals()));
  desktop
    .command('share')
    .description('share a Graph session with a project; its agents may then start it')
    .argument('<session>', 'id, slug or file name')
    .requiredOption('--project <id>', 'the project')
    .addOption(json())
    .action(async (session: string, _options, command: Command) =>
      (await owner()).share(session, command.optsWithGlobals()),
    );
  desktop
    .command('unshare')
    .description('take a session back; what waits for it is cancelled')
    .argument('[session]', 'id, slug or file name')
    .requiredOption('--project <id>', 'the project')
    .option('--all', 'take back everything: the project is disabled on this desktop')
    .addOption(json())
    .action(async (session: string | undefined, _options, command: Command) =>
      (await owner()).unshare(session, command.optsWithGlobals()),
    );
}

/** How the desktop is, its way to the relay, and its machine. */
function addStateCommands(desktop: Command): void {
  desktop
    .command('login')
    .description('pair this desktop: shows a code that the owner of the relay confirms in a browser')
    .option('--name <name>', "what the owner sees as this desktop's name (default: the machine's)")
    .action(async (_options, command: Command) =>
      (await import('./login/login-command.ts')).loginDesktop(withRelay(command.optsWithGlobals())),
    );
  describedDoctor(desktop.command('doctor'));
  desktop
    .command('status')
    .description('show how the running desktop is')
    .addOption(json())
    .action(async (_options, command: Command) => (await owner()).showStatus(command.optsWithGlobals()));
  desktop
    .command('asleep')
    .description('say that this machine is about to sleep, for the sleep hook of the system: callers see it')
    .addOption(json())
    .addHelpText(
      'after',
      `
No work is asked for until the machine wakes, or until it has run on for a minute. Where systemd-logind and gdbus are
there, the desktop notices by itself. Takes two seconds at the most, and a desktop that does not run is no error.
`,
    )
    .action(async (_options, command: Command) => (await owner()).sayAsleep(command.optsWithGlobals()));
  desktop
    .command('awake')
    .description('say that it is awake again; without it, the desktop finds out within seconds')
    .addOption(json())
    .action(async (_options, command: Command) => (await owner()).sayAwake(command.optsWithGlobals()));
}

function describedDoctor(doctor: Command): Command {
  return doctor
    .description('measure the way to the relay: which transport works, and what a proxy cuts (25 seconds)')
    .addOption(json())
    .addHelpText(
      'after',
      '\nExits with 0 when a transport works. Looks at the path only; the desktop may be running.\n',
    )
    .action(async (_options, command: Command) =>
      (await import('./doctor.ts')).runDoctor(withRelay(command.optsWithGlobals())),
    );
}

/** What the owner's commands do. */
function owner() {
  return import('./owner-commands.ts');
}

/** `localhost:7420` is a URL too, of the scheme `localhost`. */
function parseRelay(relay: string): string {
  if (URL.canParse(relay) && ['http:', 'https:'].includes(new URL(relay).protocol)) return relay;
  throw new ExitError(
    'usage',
    `"${relay}" is not the address of a relay. Give it with --relay, for example https://relay.example or http://127.0.0.1:7420.`,
  );
}

function withRelay<O extends { relay: string }>(options: O): O {
  return { ...options, relay: parseRelay(options.relay) };
}

async function runAction(options: {
  data?: string;
  graphs?: string;
  relay: string;
  mode: ModeName;
  slots: number;
  hold: number;
  ca?: string;
  agentCommand?: string;
  logLevel: LogLevel;
}): Promise<void> {
  const { runDesktop } = await import('./main.ts');
  await runDesktop({
    ...withRelay(options),
    data: options.data,
    graphs: options.graphs,
    ca: options.ca,
    holdMs: options.hold,
    agentCommand: options.agentCommand?.split(/\s+/).filter(Boolean) ?? [],
  });
}
