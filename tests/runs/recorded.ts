/**
 * Runs of real Graphs with their records, and replays of them.
 */
import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import type { AgentProvider } from '../../desktop-agent/engine/agent-provider.ts';
import { createEngine, type EngineOptions } from '../../desktop-agent/engine/engine.ts';
import { createScriptedProvider } from '../../desktop-agent/engine/providers/scripted.ts';
import type { RunningGraph } from '../../desktop-agent/ports.ts';
import type { GraphEvent } from '../../desktop-agent/run-events.ts';
import { HandedOutGraphs } from '../../desktop-agent/runs/handed-out-graphs.ts';
import type { HistoryLimits } from '../../desktop-agent/runs/history-limits.ts';
import { RecordFiles } from '../../desktop-agent/runs/record-files.ts';
import { type RunRecord, readRecord, resultOf } from '../../desktop-agent/runs/record-reader.ts';
import { recordingEngine } from '../../desktop-agent/runs/recording-engine.ts';
import { type Replay, type ReplayOptions, replayRun } from '../../desktop-agent/runs/replay.ts';
import { RunHistory } from '../../desktop-agent/runs/run-history.ts';
import { graph, heldProvider, shelfOf, testPorts } from '../engine/support.ts';
import { MemoryDisk } from '../state/memory-disk.ts';
import { FOLDER } from './support.ts';

export const args = { topics: ['bees', 'glass', 'tides'] };

export interface Recorded {
  readonly record: RunRecord;
  readonly recordedResult: string | null;
  readonly source: string;
  readonly events: readonly GraphEvent[];
}

export interface RecordOptions extends Partial<EngineOptions> {
  readonly args?: Record<string, unknown>;
  readonly history?: Partial<HistoryLimits>;
  readonly onEvent?: (event: GraphEvent, running: RunningGraph) => void;
}

/** Runs the Graph for real, with its record. */
export async function recorded(t: Test, source: string, options: RecordOptions = {}): Promise<Recorded> {
  const { history: kept = {}, onEvent, graphs, ...parts } = options;
  const files = new RecordFiles({ disk: new MemoryDisk(), folder: FOLDER });
  const shelf = new HandedOutGraphs(graphs ?? shelfOf({}));
  const history = new RunHistory({ ports: testPorts, files, limits: kept, nested: (called) => shelf.lineOf(called) });
  await history.open();
  const real = createEngine({ ports: testPorts, provider: createScriptedProvider(), ...parts, graphs: shelf });
  const engine = recordingEngine(real, history, 60_000);
  t.teardown(() => engine.close());
  const commandId = randomUUID();
  const events: GraphEvent[] = [];
  const running = engine.start({
    commandId,
    executionId: randomUUID(),
    channel: `graph:external:${commandId}`,
    name: 'test.js',
    source,
    args: options.args ?? args,
    onEvent: (event) => {
      events.push(event);
      onEvent?.(event, running);
    },
  });
  await running.done;
  await history.close(60_000);
  const record = await readRecord(files, (await files.names())[0] ?? '');
  return { record, recordedResult: await resultOf(files, record), source, events };
}

export function replayed(run: Recorded, changes: Partial<ReplayOptions> & { source?: string } = {}): Promise<Replay> {
  const { source = run.source, ...rest } = changes;
  const { record, recordedResult } = run;
  return replayRun({ ports: testPorts, record, recordedResult, graph: { name: 'test.js', source }, args, ...rest });
}

/** What a replay hears, without what is another value each time. */
export function comparable(events: readonly GraphEvent[]): unknown[] {
  return events.map((event) => ({ ...event, duration_ms: 0, run_id: '' }));
}

/** Answers in the reverse order of asking, as soon as `count` wait. */
export function backwards(count: number): AgentProvider {
  const provider = heldProvider();
  const answer = async (): Promise<void> => {
    await provider.until(count);
    for (const ask of provider.held.splice(0).reverse()) ask.answer(`about ${ask.label}`, ask.prompt.length);
    void answer();
  };
  void answer();
  return provider;
}

export const names = (calls: readonly { readonly name: string }[]): string[] => calls.map(({ name }) => name);

/** Three agents at once. */
export const FAN_OUT = graph(`
  phase('Research');
  const order = [];
  const notes = await parallel(args.topics.map((topic) => async () => {
    const note = await agent('about ' + topic, { label: topic });
    order.push(topic);
    log(topic + ' is there, ' + budget.spent() + ' tokens');
    return note;
  }));
  phase('Summary');
  return { notes, order, spent: budget.spent() };
`);
