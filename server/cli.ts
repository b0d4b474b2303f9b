/**
 * `graph-relay server` and `graph-relay token`: the command line of the relay.
 *
 * Owns words and options only; what a command does is imported when it is asked for, so that `--help` is quick.
 */
import { Command, InvalidArgumentError, Option } from 'commander';
import { LOG_LEVELS, type LogLevel } from '../protocol/host/log-levels.ts';
import { ownerLimitOptions, ownerLimitsIn } from './owner-limits.ts';
import type { StatusOptions } from './status-command.ts';
import type { CreateOptions, ListOptions } from './token-commands.ts';

export const DEFAULT_PORT = 7420;

export function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new InvalidArgumentError('It must be from 0 to 65535.');
  return port;
}

interface ServerWords {
  readonly data?: string;
  readonly host: string;
  readonly port: number;
  readonly logLevel: LogLevel;
}

export function serverCommand(): Command {
  const server = new Command('server')
    .description('run the relay: clients and desktops connect to it')
    .option('--data <folder>', 'where the state is kept (or GRAPH_RELAY_DATA; default .graph-relay)')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 takes any free one', parsePort, DEFAULT_PORT)
    .option('--public-url <url>', 'what the relay is called from outside, behind a proxy (or GRAPH_RELAY_PUBLIC_URL)')
    .addOption(new Option('--log-level <level>', 'what is logged').choices(LOG_LEVELS).default('info'))
    .optionsGroup('Limits, as options or variables of the environment:');
  for (const option of ownerLimitOptions()) server.addOption(option);
  server
    .optionsGroup('Options:')
    .addHelpText(
      'after',
      '\nExamples:\n  graph-relay server --port 8080 --data /var/lib/graph-relay\n  graph-relay server --start-by 2h --keep-runs-for 7d\n',
    )
    .action(async (options: ServerWords, command: Command) => {
      const { runServer } = await import('./main.ts');
      const version = command.parent?.version();
      await runServer({ ...options, version, data: options.data, limits: ownerLimitsIn({ ...options }) });
    })
    .command('status')
    .description('show how the running relay is, and its limits')
    .addOption(new Option('--json', 'print JSON'))
    .action(async (_options, command: Command) =>
      (await import('./status-command.ts')).showStatus(command.optsWithGlobals<StatusOptions>()),
    );
  return server;
}

export function ownerCommand(): Command {
  const owner = new Command('owner').description('the owner of the relay, who allows agents and desktops in a browser');
  owner
    .command('link')
    .description('print a one-time link to choose the password: of the first owner, or a new one')
    .option('--data <folder>', 'the data folder of the relay (or GRAPH_RELAY_DATA)')
    .action(async (options: ListOptions) => (await import('./owner-commands.ts')).printOwnerLink(options));
  return owner;
}

export function tokenCommand(): Command {
  const token = new Command('token').description('tokens of agents (MCP clients) and desktops');
  const data = () => new Option('--data <folder>', 'the data folder of the relay (or GRAPH_RELAY_DATA)');
  const json = () => new Option('--json', 'print JSON');
  token
    .command('create')
    .description('make a token; it is shown once and kept as a hash only')
    .option('--agent <name>', 'for a connected agent of this name')
    .option('--desktop <name>', 'for a desktop of this name')
    .option('--project <id...>', 'what an agent may use; a project that is new is made')
    .addOption(data())
    .addOption(json())
    .addHelpText(
      'after',
      '\nExamples:\n  graph-relay token create --agent claude --project home\n  graph-relay token create --desktop laptop\n',
    )
    .action(async (options: CreateOptions) => (await import('./token-commands.ts')).createToken(options));
  token
    .command('list')
    .description('list the tokens')
    .addOption(data())
    .addOption(json())
    .action(async (options: ListOptions) => (await import('./token-commands.ts')).listTokens(options));
  token
    .command('rotate')
    .description('make a new token for the same agent or desktop; the old one ends at once')
    .argument('<id or name>')
    .addOption(data())
    .addOption(json())
    .addHelpText(
      'after',
      '\nFor a token that was lost or seen by others. Sessions, projects and waiting runs stay as they are.\nA desktop that runs with the old token stops what it runs: start it with the new one.\nA desktop whose token was revoked gets a new one, too.\n',
    )
    .action(async (which: string, options: ListOptions) =>
      (await import('./token-commands.ts')).rotateToken(which, options),
    );
  token
    .command('revoke')
    .description('end a token at once')
    .argument('<id or name>')
    .addOption(data())
    .action(async (which: string, options: ListOptions) =>
      (await import('./token-commands.ts')).revokeToken(which, options),
    );
  return token;
}
