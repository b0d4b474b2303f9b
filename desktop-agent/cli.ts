/**
 * `graph-relay desktop`: the command line of the desktop.
 *
 * Owns which topics there are, a file for each in `command-line/`. Those own words and options only; what a command does
 * is imported when it is asked for, so that `--help` is quick.
 */
import { Command } from 'commander';
import { addAgentsCommand } from './command-line/agents.ts';
import { addConnectionCommands } from './command-line/connection.ts';
import { addGraphCommands } from './command-line/graphs.ts';
import { addLogCommands } from './command-line/logs.ts';
import { addDesktopOptions, type DesktopWords, desktopOptionsIn } from './command-line/options.ts';
import { addRunCommand } from './command-line/run-here.ts';
import { addHistoryCommands } from './command-line/runs.ts';
import { addServiceCommands } from './command-line/service.ts';
import { addSharingCommands } from './command-line/sharing.ts';
import { addStateCommands } from './command-line/state.ts';
import { addToolCommands } from './command-line/tools.ts';
import { addWatchCommand } from './command-line/watch.ts';

export { doctorCommand } from './command-line/connection.ts';

export function desktopCommand(): Command {
  const desktop = addDesktopOptions(new Command('desktop'))
    .description('run this machine as a desktop, or see and change what it shares')
    .addHelpText(
      'after',
      `
A desktop is let in by its login ("graph-relay desktop login"), or by a token in
GRAPH_RELAY_TOKEN or in the file desktop/token in the data folder.

Agents are answered as desktop/agents.json in the data folder says
("graph-relay desktop agents --help"); without that file and without
--agent-command, by a script that only echoes.

Examples:
  graph-relay desktop login --relay https://relay.example
  graph-relay desktop --relay https://relay.example --agent-command "claude -p"
  graph-relay desktop graphs
  graph-relay desktop share hello --project home
`,
    )
    .action(runAction);
  addGraphCommands(desktop);
  addAgentsCommand(desktop);
  addRunCommand(desktop);
  addHistoryCommands(desktop);
  addSharingCommands(desktop);
  addConnectionCommands(desktop);
  addStateCommands(desktop);
  addWatchCommand(desktop);
  addLogCommands(desktop);
  addServiceCommands(desktop);
  addToolCommands(desktop);
  return desktop;
}

async function runAction(words: DesktopWords): Promise<void> {
  const { runDesktop } = await import('./main.ts');
  await runDesktop(desktopOptionsIn(words));
}
