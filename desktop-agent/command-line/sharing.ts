/** The words of `graph-relay desktop` about what is shared with whom. */
import type { Command } from 'commander';
import { jsonOption } from './options.ts';

export function addSharingCommands(desktop: Command): void {
  desktop
    .command('projects')
    .description('list the projects that something is shared with')
    .addOption(jsonOption())
    .action(async (_options, command: Command) => (await actions()).listProjects(command.optsWithGlobals()));
  desktop
    .command('share')
    .description('share a Graph session with a project; its agents may then start it')
    .argument('<graph>', 'id, slug or file name')
    .requiredOption('--project <id>', 'the project')
    .addOption(jsonOption())
    .addHelpText('after', '\nExamples:\n  graph-relay desktop share hello --project home\n')
    .action(async (session: string, _options, command: Command) =>
      (await actions()).share(session, command.optsWithGlobals()),
    );
  desktop
    .command('unshare')
    .description('take a session back; what waits for it is cancelled')
    .argument('[graph]', 'id, slug or file name')
    .requiredOption('--project <id>', 'the project')
    .option('--all', 'take back everything: the project is disabled on this desktop')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `
Examples:
  graph-relay desktop unshare hello --project home
  graph-relay desktop unshare --all --project home
`,
    )
    .action(async (session: string | undefined, _options, command: Command) =>
      (await actions()).unshare(session, command.optsWithGlobals()),
    );
}

function actions() {
  return import('./actions/sharing.ts');
}
