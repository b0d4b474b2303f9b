/**
 * What `graph-relay desktop run` does: one run in this process, shown while it goes on.
 *
 * Owns what goes to which stream, and the code at the end. The relay hears nothing of it; the history of runs has it.
 */
import { readFile } from 'node:fs/promises';
import { text as textOfStream } from 'node:stream/consumers';
import { EXIT_CODES, ExitError } from '../../../protocol/host/exit-codes.ts';
import { createProcessLog } from '../../../protocol/host/logging.ts';
import { dataDirectory } from '../../../protocol/host/process.ts';
import { systemClock, systemIds, systemRandom } from '../../../protocol/host/system-ports.ts';
import { note, painted, plain, print } from '../../../protocol/host/terminal.ts';
import { runChannel } from '../../../protocol/ids.ts';
import type { Ports } from '../../../protocol/ports.ts';
import { openAgents } from '../../agents/open-agents.ts';
import { createDesktopEngine } from '../../desktop-engine.ts';
import { trustAlso } from '../../dialer/trust.ts';
import type { EngineLimits } from '../../engine/engine-limits.ts';
import { GraphSourceError, type ParsedGraph, parseGraph } from '../../engine/graph-source.ts';
import { libraryShelf } from '../../library-shelf.ts';
import type { RunOutcome } from '../../ports.ts';
import type { GraphEvent } from '../../run-events.ts';
import { openRuns } from '../../runs/open-runs.ts';
import { EventLines } from '../event-lines.ts';
import { givenArguments, type Typed } from '../given-arguments.ts';
import { costText, counted, listed, spanText } from '../words.ts';
import { flagsOf, type OwnerOptions } from './admin.ts';
import { fileNamed, filesOf, graphFolderOf, readGraph } from './graph-files.ts';
import { cancelOnInterrupt, onScreen } from './on-screen.ts';
import { ToolsHere } from './tools-here.ts';

export interface RunHereOptions extends OwnerOptions {
  readonly graph: string;
  readonly pairs: readonly string[];
  readonly args?: string;
  readonly argsFile?: string;
  readonly quiet?: boolean;
  readonly agentCommand: readonly string[];
  readonly limits: Partial<EngineLimits>;
  readonly ca?: string;
}

export async function runHere(options: RunHereOptions): Promise<void> {
  const folder = await graphFolderOf(options);
  const graph = await readGraph(fileNamed(options.graph, folder), folder);
  const { meta } = parsed(graph, options);
  const args = givenArguments(await typed(options), meta.arguments);
  const log = createProcessLog({ component: 'desktop', level: 'warn', terminal: true, fd: 2 });
  const ports: Ports = { clock: systemClock, random: systemRandom, ids: systemIds, log };
  trustAlso(options.ca);
  const provider = await openAgents({ data: options.data, command: options.agentCommand, ports });
  const tools = new ToolsHere(options, ports);
  const library = filesOf(folder);
  const desktopFolder = dataDirectory(options.data, 'desktop');
  const runs = await openRuns({ ports, desktopFolder, library, graphs: libraryShelf(library) });
  const { graphs } = runs;
  const { limits } = options;
  const engine = runs.recorded(createDesktopEngine({ ports, provider, graphs, tools, limits, keepWarm: false }));
  const commandId = systemIds.uuid();
  const since = systemClock.monotonic();
  const running = engine.start({
    commandId,
    executionId: systemIds.uuid(),
    channel: runChannel(commandId),
    ...graph,
    args,
    onEvent: options.quiet ? () => {} : showEvents(),
  });
  cancelOnInterrupt(running);
  const outcome = await running.done;
  await engine.close();
  await tools.close();
  tell(outcome, { ...options, tookMs: systemClock.monotonic() - since });
}

function parsed(graph: { name: string; source: string }, options: RunHereOptions): ParsedGraph {
  try {
    return parseGraph(graph.source, graph.name);
  } catch (error) {
    if (!(error instanceof GraphSourceError)) throw error;
    const next = `graph-relay desktop check ${options.graph}${flagsOf(options)}`;
    throw new ExitError('failure', `${error.message}\nNothing was started. \`${next}\` looks for more.`);
  }
}

async function typed({ args, argsFile, pairs }: RunHereOptions): Promise<Typed> {
  if (args !== undefined && argsFile !== undefined) {
    throw new ExitError('usage', 'Give --args or --args-file, not both.');
  }
  if (args !== undefined) return { json: { text: args, from: '--args' }, pairs };
  if (argsFile === undefined) return { pairs };
  if (argsFile === '-') return { json: { text: await textOfStream(process.stdin), from: 'standard input' }, pairs };
  try {
    return { json: { text: await readFile(argsFile, 'utf8'), from: argsFile }, pairs };
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new ExitError('usage', `${argsFile} cannot be read (${reason}).`);
  }
}

function showEvents(): (event: GraphEvent) => void {
  const lines = new EventLines((paint, text) => painted(paint, text, process.stderr));
  return (event) => {
    const line = lines.line(event);
    if (line !== null) note(line);
  };
}

function tell(outcome: RunOutcome, { json, quiet, tookMs }: RunHereOptions & { tookMs: number }): void {
  const { status, resultJson, error, totalTokens, reportedCost } = outcome;
  if (status === 'failed') process.exitCode = EXIT_CODES['run-failed'];
  if (status === 'cancelled') process.exitCode = EXIT_CODES.interrupted;
  const result: unknown = resultJson === null ? null : JSON.parse(resultJson);
  if (json) {
    const took_ms = Math.round(tookMs);
    print(JSON.stringify({ status, result, error, total_tokens: totalTokens, reported_cost: reportedCost, took_ms }));
    return;
  }
  if (error !== null) note(`${painted('red', status, process.stderr)}: ${plain(error)}`);
  else if (!quiet) note(`${painted('green', status, process.stderr)}: ${figures(outcome, tookMs)}`);
  if (status === 'completed') print(onScreen(typeof result === 'string' ? result : JSON.stringify(result, null, 2)));
}

function figures({ totalTokens, reportedCost }: RunOutcome, tookMs: number): string {
  return listed(counted(totalTokens, 'token'), costText(reportedCost), spanText(tookMs));
}
