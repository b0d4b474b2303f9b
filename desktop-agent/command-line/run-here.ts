/** The words of `graph-relay desktop run`: a Graph in a process of its own, without the relay. */
import type { Command } from 'commander';
import { type DesktopWords, desktopOptionsIn, jsonOption } from './options.ts';

export function addRunCommand(desktop: Command): void {
  desktop
    .command('run')
    .description('run a Graph here, without the relay, and print its result')
    .argument('<graph>', 'slug, id or file name, or the path of a file')
    .argument('[key=value...]', 'its arguments; a value is JSON where it is JSON and no text is wanted')
    .option('--args <json>', 'its arguments as a JSON object')
    .option('--args-file <file>', 'its arguments from a file with a JSON object; - reads standard input')
    .option('--quiet', 'do not show what happens during the run')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `
What happens is shown on standard error, the result is printed on standard
output: a text as it is, anything else as JSON. --json prints one line with
status, result, error, tokens and cost. The arguments are checked before
anything starts. Agents and tools are those of the desktop, and you are asked
about a tool that is not allowed. Ctrl-C cancels the run.

Ends with 0 when it completed, 30 when it failed, 130 when it was cancelled.

Examples:
  graph-relay desktop run hello name=Ada
  graph-relay desktop run ./drafts/report.js --args '{"topic":"tea"}'
  graph-relay desktop run hello --json | jq .result
`,
    )
    .action(async function (this: Command, graph: string, pairs: string[]) {
      const words = this.optsWithGlobals<DesktopWords>();
      const { runHere } = await import('./actions/run-here.ts');
      const { agentCommand, limits } = desktopOptionsIn(words);
      await runHere({ graph, pairs, ...words, agentCommand, limits });
    });
}
