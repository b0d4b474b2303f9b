/**
 * What `graph-relay desktop replay` does: a recorded run once more, in this process.
 *
 * Owns what is told of it. The relay and the desktop that runs hear nothing.
 */
import { basename } from 'node:path';
import { EXIT_CODES, ExitError } from '../../../protocol/host/exit-codes.ts';
import { createProcessLog } from '../../../protocol/host/logging.ts';
import { systemClock, systemIds, systemRandom } from '../../../protocol/host/system-ports.ts';
import { note, painted, plain, print } from '../../../protocol/host/terminal.ts';
import type { Ports } from '../../../protocol/ports.ts';
import { openAgents } from '../../agents/open-agents.ts';
import { trustAlso } from '../../dialer/trust.ts';
import type { AgentProvider } from '../../engine/agent-provider.ts';
import { libraryShelf } from '../../library-shelf.ts';
import { type RunRecord, readRecord, resultOf } from '../../runs/record-reader.ts';
import { type Replay, replayRun } from '../../runs/replay.ts';
import type { PaidCall } from '../../runs/replay-script.ts';
import { EventLines } from '../event-lines.ts';
import { accountLines, differenceRow } from '../replay-text.ts';
import { shortId } from '../run-text.ts';
import type { OwnerOptions } from './admin.ts';
import { fileNamed, filesOf, type GraphFolder, graphFolderOf, readGraph } from './graph-files.ts';
import { cancelOnInterrupt, onScreen } from './on-screen.ts';
import { recordNamed } from './runs.ts';
import { ToolsHere } from './tools-here.ts';

export interface ReplayOptions extends OwnerOptions {
  readonly graph?: string;
  readonly ask?: boolean;
  readonly quiet?: boolean;
  readonly agentCommand: readonly string[];
  readonly ca?: string;
}

export async function replay(reference: string, options: ReplayOptions): Promise<void> {
  const { files, name } = await recordNamed(reference, options);
  const record = await readRecord(files, name);
  const log = createProcessLog({ component: 'desktop', level: 'warn', terminal: true, fd: 2 });
  const ports: Ports = { clock: systemClock, random: systemRandom, ids: systemIds, log };
  const lines = new EventLines((paint, text) => painted(paint, text, process.stderr));
  const folder = await graphFolderOf(options);
  const tools = new ToolsHere(options, ports);
  const done = await replayRun({
    ports,
    record,
    recordedResult: await resultOf(files, record),
    graph: await graphOf(record, options.graph, folder),
    args: argumentsOf(record),
    ask: options.ask ? { provider: await agentsOf(options, ports), tools } : null,
    graphs: libraryShelf(filesOf(folder)),
    onEvent(event) {
      const line = options.quiet ? null : lines.line(event);
      if (line !== null) note(line);
    },
    onStart: cancelOnInterrupt,
  });
  await tools.close();
  const { status } = done.outcome;
  if (status === 'failed') process.exitCode = EXIT_CODES['run-failed'];
  if (status === 'cancelled') process.exitCode = EXIT_CODES.interrupted;
  if (options.json) return print(JSON.stringify(asJson(record, done)));
  tell(record, done, options);
}

/** Those of the desktop, as for its own runs. */
function agentsOf({ data, agentCommand: command, ca }: ReplayOptions, ports: Ports): Promise<AgentProvider> {
  trustAlso(ca);
  return openAgents({ data, command, ports });
}

async function graphOf(
  { head, graph }: RunRecord,
  wanted: string | undefined,
  folder: GraphFolder,
): Promise<{ name: string; source: string }> {
  if (wanted !== undefined) return readGraph(fileNamed(wanted, folder), folder);
  if (graph === null) {
    throw new ExitError('failure', 'The Graph that ran is not in this record. Name one with --graph.');
  }
  return { name: head.file_name, source: graph.source };
}

function argumentsOf({ graph }: RunRecord): Readonly<Record<string, unknown>> {
  return (graph?.args ?? {}) as Readonly<Record<string, unknown>>;
}

function tell(record: RunRecord, done: Replay, options: ReplayOptions): void {
  const { status, error, resultJson } = done.outcome;
  const colour = status === 'completed' ? 'green' : 'red';
  if (!options.quiet) note('');
  note(`${painted(colour, status, process.stderr)}${error === null ? '' : `: ${plain(error)}`}`);
  const what = options.graph === undefined ? 'the Graph as it ran' : basename(options.graph);
  note(`run ${shortId(record.head.command_id)} once more, with ${what}`);
  for (const line of accountLines(record, done)) note(line);
  if (resultJson !== null) {
    const result: unknown = JSON.parse(resultJson);
    print(onScreen(typeof result === 'string' ? result : JSON.stringify(result, null, 2)));
  }
}

function asJson({ head }: RunRecord, done: Replay) {
  const { outcome, sameEvents, sameEnd, differences, reused, asked, refused, unused, graphsFromNow } = done;
  const paid = (calls: readonly PaidCall[]) =>
    calls.map(({ kind, name, tokens, cost }) => ({ kind, name, tokens, cost }));
  return {
    command_id: head.command_id,
    status: outcome.status,
    result: outcome.resultJson === null ? null : JSON.parse(outcome.resultJson),
    error: outcome.error,
    total_tokens: outcome.totalTokens,
    same_events: sameEvents,
    same_end: sameEnd,
    differences: differences.map(differenceRow),
    reused: paid(reused),
    asked: paid(asked),
    refused,
    unused: paid(unused),
    graphs_from_now: graphsFromNow,
  };
}
