/**
 * `graph-relay desktop`: the command line of the desktop.
 *
 * Owns words and options only; what a command does is imported when it is asked for, so that `--help` is quick.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import { ExitError } from '../protocol/host/exit-codes.ts';
import { LOG_LEVELS, type LogLevel } from '../protocol/host/log-levels.ts';
import { CAPACITY_MAX } from '../protocol/limits.ts';
import { MODES, type RelayMode } from './modes.ts';

export function desktopCommand(): Command {
  const desktop = new Command('desktop')
    .description('run this machine as a desktop, or see and change what it shares')
    .option('--data <folder>', 'where the state is kept (or GRAPH_RELAY_DATA; default .graph-relay)')
    .option('--graphs <folder>', 'the folder with the *.js Graphs (default: graphs in the data folder)')
    .option('--relay <url>', 'address of the relay', process.env.GRAPH_RELAY_URL ?? 'http://127.0.0.1:7420')
    .addOption(new Option('--mode <mode>', 'how to ask for work').choices(Object.keys(MODES)).default('long-poll'))
    .option('--slots <number>', 'Graphs that may run at once', parseSlots, 1)
    .option(
      '--agent-command <command>',
      'program that answers agents: prompt on standard input (split at blanks, no shell)',
    )
    .addOption(new Option('--log-level <level>', 'what is logged').choices(LOG_LEVELS).default('info'))
    .addHelpText(
      'after',
      `
The token comes from GRAPH_RELAY_TOKEN, or from the file desktop/token in the data folder.
Without --agent-command, agents are answered by a script that only echoes.

Examples:
  graph-relay desktop --relay https://relay.example --agent-command "claude -p"
  graph-relay desktop sessions
  graph-relay desktop share hello --project home
`,
    )
    .action(runAction);
  addAdminCommands(desktop);
  return desktop;
}

function addAdminCommands(desktop: Command): void {
  const json = () => new Option('--json', 'print JSON');
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
  desktop
    .command('status')
    .description('show how the running desktop is')
    .addOption(json())
    .action(async (_options, command: Command) => (await owner()).showStatus(command.optsWithGlobals()));
}

/** What the owner's commands do. */
function owner() {
  return import('./owner-commands.ts');
}

function parseSlots(text: string): number {
  const slots = Number(text);
  if (!Number.isInteger(slots) || slots < 1 || slots > CAPACITY_MAX) {
    throw new InvalidArgumentError(`It must be from 1 to ${CAPACITY_MAX}.`);
  }
  return slots;
}

/** `localhost:7420` is a URL too, of the scheme `localhost`. */
function isHttpAddress(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol);
}

async function runAction(options: {
  data?: string;
  graphs?: string;
  relay: string;
  mode: RelayMode['name'];
  slots: number;
  agentCommand?: string;
  logLevel: LogLevel;
}): Promise<void> {
  if (!isHttpAddress(options.relay)) {
    throw new ExitError(
      'usage',
      `"${options.relay}" is not the address of a relay. Give it with --relay, for example https://relay.example or http://127.0.0.1:7420.`,
    );
  }
  const { runDesktop } = await import('./main.ts');
  await runDesktop({
    ...options,
    data: options.data,
    graphs: options.graphs,
    agentCommand: options.agentCommand?.split(/\s+/).filter(Boolean) ?? [],
  });
}
