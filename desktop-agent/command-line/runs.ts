/** The words of `graph-relay desktop` about runs: which there were, what happened, what happens now, and once more. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { LISTED_RUNS } from '../runs/run-desk.ts';
import { type DesktopWords, desktopOptionsIn, jsonOption } from './options.ts';

const WHICH = 'id, the beginning of it, or "last"';

export function addHistoryCommands(desktop: Command): void {
  desktop
    .command('runs')
    .description('list the latest runs: when, status, how long, tokens, cost, who asked')
    .addOption(limitOption())
    .addOption(jsonOption())
    .action(async (_options, command: Command) => (await actions()).listRuns(command.optsWithGlobals()));
  addShowCommand(desktop);
  desktop
    .command('cancel')
    .description('end a run that goes on; its caller sees that it was cancelled')
    .argument('<run>', WHICH)
    .addOption(jsonOption())
    .action(async (run: string, _options, command: Command) =>
      (await actions()).cancelRun(run, command.optsWithGlobals()),
    );
  desktop
    .command('events')
    .description('show what happens in runs, as it happens')
    .argument('[run]', `${WHICH}; all runs when none is named`)
    .addOption(jsonOption())
    .addHelpText('after', '\nOf one run from its start to its end; of all runs from now on, until Ctrl-C.\n')
    .action(async (run: string | undefined, _options, command: Command) =>
      (await actions()).followEvents(run, command.optsWithGlobals()),
    );
  addReplayCommand(desktop);
}

function addShowCommand(desktop: Command): void {
  desktop
    .command('show')
    .description('show one run: what happened, who decided what, how it ended')
    .argument('<run>', WHICH)
    .addOption(new Option('--result', 'print the result, and nothing else').conflicts(['events', 'prompts', 'follow']))
    .addOption(new Option('--events', 'print each event as a line of JSON').conflicts(['prompts', 'follow']))
    .option('--prompts', 'with what agents were asked and said, whole')
    .option('--follow', 'go on until the run has ended')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `
A result that was too long for the relay is kept here whole. Texts are cut in
--json; --events has them whole.

Examples:
  graph-relay desktop show last
  graph-relay desktop show 4f1c --result | jq .
`,
    )
    .action(async (run: string, _options, command: Command) =>
      (await actions()).showRun(run, command.optsWithGlobals()),
    );
}

function addReplayCommand(desktop: Command): void {
  desktop
    .command('replay')
    .description('run a Graph once more, with the answers of a recorded run')
    .argument('<run>', WHICH)
    .option('--graph <graph>', 'an edited Graph in place of the one that ran: slug, id, file name or path')
    .option('--ask', 'call agents and tools for what the record does not have')
    .option('--quiet', 'do not show what happens')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `
Nobody is asked and nothing is called: a call that asks for the same as one of
the record (prompt, label, model and schema; tool and input) gets what came of
that one. Graphs that were called run as they were then, and waits of retry
take no time. A call that is not in the record is refused. With --ask it goes
to the agents and tools of this desktop, and you are asked about a tool that
is not allowed.

The account is on standard error, the result on standard output. Ends with the
codes of "desktop run".

Examples:
  graph-relay desktop replay last
  graph-relay desktop replay 4f1c --graph ./drafts/report.js
`,
    )
    .action(async function (this: Command, run: string) {
      const words = this.optsWithGlobals<DesktopWords & ReplayWords>();
      const { replay } = await import('./actions/replay.ts');
      await replay(run, { ...words, agentCommand: desktopOptionsIn(words).agentCommand });
    });
}

interface ReplayWords {
  readonly graph?: string;
  readonly ask?: boolean;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

function limitOption(): Option {
  const { usual, max } = LISTED_RUNS;
  const parse = (text: string): number => {
    const count = /^\d{1,6}$/.test(text) ? Number(text) : 0;
    if (count >= 1 && count <= max) return count;
    throw new InvalidArgumentError(`It must be a whole number from 1 to ${max}.`);
  };
  return new Option('--limit <runs>', `how many, from 1 to ${max}`).default(usual).argParser(parse);
}

function actions() {
  return import('./actions/runs.ts');
}
