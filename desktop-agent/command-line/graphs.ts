/** The words of `graph-relay desktop` about Graphs as files: which there are, a first one, and their mistakes. */
import type { Command } from 'commander';
import { type DesktopWords, jsonOption } from './options.ts';
import { runLimitsIn } from './run-limits.ts';

export function addGraphCommands(desktop: Command): void {
  desktop
    .command('graphs')
    .alias('sessions')
    .description('list the Graphs of this desktop: version, whom it is shared with, arguments')
    .addOption(jsonOption())
    .addHelpText('after', '\nThe ids of the Graph sessions are in the JSON.\n')
    .action(async (_options, command: Command) => (await actions()).listGraphs(command.optsWithGlobals()));
  desktop
    .command('new')
    .description('write a first Graph that explains itself')
    .argument('<name>', 'what to call it')
    .option('--from <sample>', 'start from a sample in place of the template')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `
Prints the path of the file. A file or Graph of that name is left as it is.

Examples:
  graph-relay desktop new "Weekly report"
  graph-relay desktop new compare --from fan-out
`,
    )
    .action(async (name: string, _options, command: Command) =>
      (await actions()).newGraph(name, command.optsWithGlobals()),
    );
  desktop
    .command('check')
    .description('look for mistakes in Graphs before they run')
    .argument('[file...]', 'paths, or Graphs of this desktop; all of them when none is named')
    .option('--strict', 'end with code 1 for warnings too')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `
Errors make a run fail; warnings are likely not what was meant. Nothing is
executed. Ends with 1 when there are errors.

Examples:
  graph-relay desktop check
  graph-relay desktop check hello ./drafts/report.js --strict
`,
    )
    .action(async (files: string[], _options, command: Command) => checkAction(files, command.optsWithGlobals()));
}

async function checkAction(files: string[], words: DesktopWords): Promise<void> {
  const { checkGraphs } = await import('./actions/check.ts');
  await checkGraphs(files, { ...words, limits: runLimitsIn(words) });
}

function actions() {
  return import('./actions/graphs.ts');
}
