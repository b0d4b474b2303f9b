/** The words of `graph-relay desktop` about how the running desktop is, and about the sleep of its machine. */
import type { Command } from 'commander';
import { jsonOption } from './options.ts';

export function addStateCommands(desktop: Command): void {
  desktop
    .command('status')
    .description('show how the running desktop is')
    .addOption(jsonOption())
    .action(async (_options, command: Command) => (await actions()).showStatus(command.optsWithGlobals()));
  desktop
    .command('pause')
    .description('take no new runs until "resume", also after a restart; what runs goes on')
    .addOption(jsonOption())
    .addHelpText('after', '\nWhat is queued waits at the relay, until its start-by time is over.\n')
    .action(async (_options, command: Command) => (await actions()).pause(command.optsWithGlobals()));
  desktop
    .command('resume')
    .description('take runs again after "pause"')
    .addOption(jsonOption())
    .action(async (_options, command: Command) => (await actions()).resume(command.optsWithGlobals()));
  desktop
    .command('asleep')
    .description('say that this machine is about to sleep, for the sleep hook of the system: callers see it')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `
No work is asked for until the machine wakes, or until it has run on for a
minute. Where systemd-logind and gdbus are there, the desktop notices by itself.
Takes two seconds at the most, and a desktop that does not run is no error.
`,
    )
    .action(async (_options, command: Command) => (await actions()).sayAsleep(command.optsWithGlobals()));
  desktop
    .command('awake')
    .description('say that it is awake again; without it, the desktop finds out within seconds')
    .addOption(jsonOption())
    .action(async (_options, command: Command) => (await actions()).sayAwake(command.optsWithGlobals()));
}

function actions() {
  return import('./actions/state.ts');
}
