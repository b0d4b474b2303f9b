/** The words of `graph-relay desktop logs`. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { jsonOption } from './options.ts';

const USUAL_LINES = 50;

export function addLogCommands(desktop: Command): void {
  desktop
    .command('logs')
    .description('show the log of the desktop, however it was started')
    .addOption(new Option('-n, --lines <count>', 'how many lines').argParser(parseCount).default(USUAL_LINES))
    .option('-f, --follow', 'go on, until Ctrl-C')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `
It is desktop/desktop.log in the data folder, 10 MB at the most; --json prints
its lines as they are. What a service says before it has the data folder is with
the system: "graph-relay desktop install --help" says where.

Examples:
  graph-relay desktop logs -f
  graph-relay desktop logs -n 1000 --json | jq 'select(.level == "error")'
`,
    )
    .action(async (_options, command: Command) =>
      (await import('./actions/logs.ts')).showLogs(command.optsWithGlobals()),
    );
}

function parseCount(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}
