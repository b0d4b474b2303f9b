/**
 * Runs a Graph once more against the record of a run: agents and tools answer as they did then.
 *
 * Owns how the parts are put together, and the comparison with what was recorded. Nothing leaves this process, unless
 * there is somebody to ask what the record does not have.
 */
import microdiff, { type Difference } from 'microdiff';
import { runChannel } from '../../protocol/ids.ts';
import type { Ports } from '../../protocol/ports.ts';
import type { AgentProvider } from '../engine/agent-provider.ts';
import { createEngine } from '../engine/engine.ts';
import type { EngineLimits } from '../engine/engine-limits.ts';
import { EMPTY_SHELF, type GraphShelf } from '../engine/graph-shelf.ts';
import type { ToolHost } from '../engine/tool-host.ts';
import type { RunningGraph, RunOutcome } from '../ports.ts';
import type { GraphEvent } from '../run-events.ts';
import type { RunRecord } from './record-reader.ts';
import { recordedCalls } from './recorded-calls.ts';
import { recordedProvider } from './recorded-provider.ts';
import { recordedShelf } from './recorded-shelf.ts';
import { recordedTools } from './recorded-tools.ts';
import { ReplayClock } from './replay-clock.ts';
import { ReplayOrder } from './replay-order.ts';
import { type AccountedCall, type PaidCall, ReplayScript } from './replay-script.ts';

export interface ReplayOptions {
  readonly ports: Pick<Ports, 'clock' | 'ids' | 'log'>;
  readonly record: RunRecord;
  /** The recorded result as JSON; null when there was none, or it was not kept. */
  readonly recordedResult: string | null;
  readonly graph: { readonly name: string; readonly source: string };
  readonly args: Readonly<Record<string, unknown>>;
  /** Who is asked what the record does not have; null for nobody. */
  readonly ask?: { readonly provider: AgentProvider; readonly tools: ToolHost | null } | null;
  /** Where the Graphs are now, for one that the recorded run did not call. */
  readonly graphs?: GraphShelf;
  readonly limits?: Partial<EngineLimits>;
  readonly onEvent?: (event: GraphEvent) => void;
  /** The run, to stop it. */
  readonly onStart?: (running: RunningGraph) => void;
}

export interface Replay {
  readonly outcome: RunOutcome;
  /** Each event was that of the record, in the same order. */
  readonly sameEvents: boolean;
  /** The result, and how it ended, are those of the record. */
  readonly sameEnd: boolean;
  /** From the recorded result to this one; empty when one of them is not there. */
  readonly differences: readonly Difference[];
  readonly reused: readonly PaidCall[];
  readonly asked: readonly PaidCall[];
  readonly refused: readonly (AccountedCall & { readonly reason: string })[];
  readonly unused: readonly PaidCall[];
  /** Called Graphs that are not in the record and were taken as they are now. */
  readonly graphsFromNow: readonly string[];
}

export async function replayRun(options: ReplayOptions): Promise<Replay> {
  const { ports, record, graph, args, ask = null, graphs = EMPTY_SHELF, limits = {}, onEvent, onStart } = options;
  const clock = new ReplayClock(ports.clock);
  const order = new ReplayOrder({
    events: record.events,
    settled: (then) => void ports.clock.after(0, then),
    openRetries: () => running.openRetries?.() ?? null,
    skipWait: () => clock.skipWait(),
  });
  const script = new ReplayScript({ calls: recordedCalls(record.events), order });
  const shelf = recordedShelf(record, graphs);
  const engine = createEngine({
    ports: { ...ports, clock },
    provider: recordedProvider(script, ask?.provider ?? null),
    tools: recordedTools(script, ask?.tools ?? null),
    graphs: shelf,
    limits,
    keepWarm: false,
  });
  const commandId = ports.ids.uuid();
  const running: RunningGraph = engine.start({
    commandId,
    executionId: ports.ids.uuid(),
    channel: runChannel(commandId),
    ...graph,
    args,
    onEvent(event) {
      onEvent?.(event);
      if (event.type === 'retry_waits') clock.isWait(event.wait_ms);
      order.heard(event);
    },
    onQuiet: () => order.look(),
  });
  onStart?.(running);
  const outcome = await running.done;
  await engine.close();
  return {
    outcome,
    sameEvents: order.isSame,
    ...comparison(outcome, options),
    reused: script.reusedCalls,
    asked: script.askedCalls,
    refused: script.refusedCalls,
    unused: script.unused(),
    graphsFromNow: [...shelf.fromNow],
  };
}

function comparison(
  { status, error, resultJson }: RunOutcome,
  { record, recordedResult }: ReplayOptions,
): Pick<Replay, 'sameEnd' | 'differences'> {
  const { end } = record;
  const differences = resultJson === null || recordedResult === null ? [] : differencesOf(recordedResult, resultJson);
  const sameResult = resultJson === recordedResult || (resultJson !== null && recordedResult !== null);
  const sameEnd = end?.status === status && end.error === error && sameResult && differences.length === 0;
  return { sameEnd, differences };
}

/** In an object each, since a result may be any value. */
function differencesOf(before: string, after: string): Difference[] {
  return microdiff({ result: JSON.parse(before) }, { result: JSON.parse(after) });
}
