/** The words of `graph-relay desktop` about its life as a service of the user. */
import { type Command, Option } from 'commander';
import { MANAGER_NAMES } from '../service/manager.ts';
import { jsonOption } from './options.ts';

export function addServiceCommands(desktop: Command): void {
  desktop
    .command('install')
    .description('run the desktop as a service that starts when you log in, with the options given')
    .option('--print', 'print the file of the service, and do nothing')
    .option('--no-start', 'do not start it now')
    .addOption(managerOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `
Writes a systemd user unit, or a launchd agent on macOS, with the options of
"graph-relay desktop" that stand on this command line, and starts it. It is
started again after a crash, but not when the relay has replaced or refused it.
Log in first ("graph-relay desktop login"): the file holds no secret. Variables
such as keys of models go into the file desktop/environment in the data folder
(NAME=value, mode 0600). Repeat the command to change options.

Its log:
  graph-relay desktop logs -f
What it says on its way up (on macOS: the file desktop/service-errors.log):
  journalctl --user -u graph-relay-desktop
To run without a login of yours too:
  loginctl enable-linger

Examples:
  graph-relay desktop install --relay https://relay.example --slots 2
  graph-relay desktop install --print
`,
    )
    .action(async (_options, command: Command) => (await actions()).install(command.optsWithGlobals()));
  desktop
    .command('uninstall')
    .description('stop and remove that service; the data folder stays')
    .addOption(managerOption())
    .addOption(jsonOption())
    .action(async (_options, command: Command) => (await actions()).uninstall(command.optsWithGlobals()));
}

function managerOption(): Option {
  return new Option('--manager <name>', 'what keeps the service (default: that of this system)').choices(MANAGER_NAMES);
}

function actions() {
  return import('./actions/service.ts');
}
