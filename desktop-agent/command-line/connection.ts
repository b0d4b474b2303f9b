/** The words of `graph-relay desktop` about its way to the relay: pairing, and what the path lets through. */
import { Command, Option } from 'commander';
import { caOption, dataOption, jsonOption, relayOption, withRelay } from './options.ts';

export function addConnectionCommands(desktop: Command): void {
  desktop
    .command('login')
    .description('pair this desktop: shows a code that the owner of the relay confirms in a browser')
    .addOption(new Option('--name <name>', "what the owner sees as this desktop's name (default: the machine's)"))
    .addOption(jsonOption())
    .addHelpText('after', '\nExamples:\n  graph-relay desktop login --relay https://relay.example\n')
    .action(async (_options, command: Command) =>
      (await import('../login/login-command.ts')).loginDesktop(withRelay(command.optsWithGlobals())),
    );
  describedDoctor(desktop.command('doctor'));
}

/** Also at the top: whoever needs it may not have a desktop yet. */
export function doctorCommand(): Command {
  return describedDoctor(new Command('doctor').addOption(relayOption()).addOption(dataOption()).addOption(caOption()));
}

function describedDoctor(doctor: Command): Command {
  return doctor
    .description('measure the way to the relay: which transport works, and what a proxy cuts (25 seconds)')
    .addOption(jsonOption())
    .addHelpText('after', '\nExits with 0 when a transport works. The desktop may be running.\n')
    .action(async (_options, command: Command) =>
      (await import('../doctor.ts')).runDoctor(withRelay(command.optsWithGlobals())),
    );
}
