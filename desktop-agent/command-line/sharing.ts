/** The words of `graph-relay desktop` about Graph sessions, and what is shared with whom. */
import type { Command } from 'commander';
import { jsonOption } from './options.ts';

export function addSharingCommands(desktop: Command): void {
  desktop
    .command('sessions')
    .description('list the Graph sessions of this desktop')
    .addOption(jsonOption())
    .action(async (_options, command: Command) => (await actions()).listSessions(command.optsWithGlobals()));
  desktop
    .command('projects')
    .description('list the projects that something is shared with')
    .addOption(jsonOption())
    .action(async (_options, command: Command) => (await actions()).listProjects(command.optsWithGlobals()));
  desktop
    .command('share')
    .description('share a Graph session with a project; its agents may then start it')
    .argument('<session>', 'id, slug or file name')
    .requiredOption('--project <id>', 'the project')
    .addOption(jsonOption())
    .action(async (session: string, _options, command: Command) =>
      (await actions()).share(session, command.optsWithGlobals()),
    );
  desktop
    .command('unshare')
    .description('take a session back; what waits for it is cancelled')
    .argument('[session]', 'id, slug or file name')
    .requiredOption('--project <id>', 'the project')
    .option('--all', 'take back everything: the project is disabled on this desktop')
    .addOption(jsonOption())
    .action(async (session: string | undefined, _options, command: Command) =>
      (await actions()).unshare(session, command.optsWithGlobals()),
    );
}

function actions() {
  return import('./actions/sharing.ts');
}
