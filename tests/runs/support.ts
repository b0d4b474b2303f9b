/**
 * A history of runs on a disk in memory and a virtual clock, before an engine whose runs are played by hand.
 */
import { seededIds, seededRandom } from '../../bench/sim/seeded.ts';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import type { Engine, GraphRun, RunningGraph, RunOutcome } from '../../desktop-agent/ports.ts';
import type { GraphEvent } from '../../desktop-agent/run-events.ts';
import type { HistoryLimits } from '../../desktop-agent/runs/history-limits.ts';
import { RecordFiles } from '../../desktop-agent/runs/record-files.ts';
import { type RunRecord, readRecord } from '../../desktop-agent/runs/record-reader.ts';
import { recordingEngine } from '../../desktop-agent/runs/recording-engine.ts';
import { RecordsDesk } from '../../desktop-agent/runs/run-desk.ts';
import { RunHistory } from '../../desktop-agent/runs/run-history.ts';
import type { Disk } from '../../protocol/host/state/disk.ts';
import { type Faults, faultyDisk, noFaults } from '../state/faulty-disk.ts';
import { MemoryDisk } from '../state/memory-disk.ts';
import { type KeptLog, keptLog } from '../state/support.ts';

export const FOLDER = '/runs';
export const SESSION = 'gs_0123456789abcdef0123456789abcdef';
export const SOURCE = "export const meta = { name: 'Test' }; return 1;";

let commands = 0;

export interface PlayedRun {
  readonly commandId: string;
  readonly run: GraphRun;
  readonly running: RunningGraph;
  /** Events that reached whoever asked for the run. */
  readonly heard: GraphEvent[];
  emit(...events: GraphEvent[]): void;
  end(outcome?: Partial<RunOutcome>): void;
}

export interface HistoryWorld {
  readonly clock: VirtualClock;
  readonly disk: MemoryDisk;
  readonly faults: Faults;
  readonly files: RecordFiles;
  readonly log: KeptLog;
  readonly history: RunHistory;
  readonly desk: RecordsDesk;
  readonly engine: Engine;
  start(changes?: Partial<GraphRun>): PlayedRun;
  /** Starts a run that ends with this outcome after these events, and waits until all is written. */
  play(events?: readonly GraphEvent[], outcome?: Partial<RunOutcome>): Promise<PlayedRun>;
  /** Lets all that waits be written. */
  written(): Promise<void>;
  recordOf(run: { readonly commandId: string }): Promise<RunRecord>;
  /** The process is killed; another one starts on what was handed to the disk. */
  killed(): Promise<HistoryWorld>;
}

export async function historyWorld(
  limits: Partial<HistoryLimits> = {},
  carried: { clock: VirtualClock; disk: MemoryDisk } = { clock: new VirtualClock(), disk: new MemoryDisk() },
): Promise<HistoryWorld> {
  const { clock, disk } = carried;
  const faults = noFaults();
  const files = new RecordFiles({ disk: faultyDisk(disk, faults), folder: FOLDER });
  const log = keptLog();
  const ports = { clock, log, ids: seededIds(seededRandom(1)) };
  const sessionOf = (id: string) => (id === SESSION ? { name: 'Test', version: 3 } : null);
  const history = new RunHistory({ ports, files, limits, sessionOf });
  await clock.settle(history.open());
  const played = new Map<string, PlayedRun>();
  const engine = recordingEngine(handEngine(clock, played), history, 2_000);
  const desk = new RecordsDesk({ files, history });

  function start(changes: Partial<GraphRun> = {}): PlayedRun {
    const run = newRun(changes);
    const heard: GraphEvent[] = [];
    const running = engine.start({ ...run, onEvent: (event) => void heard.push(event) });
    return { ...(played.get(run.commandId) as PlayedRun), run, running, heard };
  }

  async function play(events: readonly GraphEvent[] = [], outcome: Partial<RunOutcome> = {}): Promise<PlayedRun> {
    const run = start();
    run.emit(...events);
    run.end(outcome);
    await clock.settle(run.running.done);
    await written();
    return run;
  }

  async function written(): Promise<void> {
    await clock.advance(100);
  }

  const recordOf = async ({ commandId }: { readonly commandId: string }) => {
    const name = (await files.names()).find((each) => each.endsWith(commandId));
    if (name === undefined) throw new Error(`no record of ${commandId}`);
    return readRecord(files, name);
  };
  const killed = () => historyWorld(limits, { clock, disk: disk.kill() });
  return { clock, disk, faults, files, log, history, desk, engine, start, play, written, recordOf, killed };
}

/** A desk on the same records, as it is when no desktop runs. */
export function offlineDesk(disk: Disk): RecordsDesk {
  return new RecordsDesk({ files: new RecordFiles({ disk, folder: FOLDER }), history: null });
}

function newRun(changes: Partial<GraphRun>): GraphRun {
  commands += 1;
  const commandId = `${commands.toString(16).padStart(8, '0')}-0000-4000-8000-000000000000`;
  return {
    commandId,
    executionId: `${commands.toString(16).padStart(8, '0')}-0000-4000-9000-000000000000`,
    channel: `graph:external:${commandId}`,
    name: 'test.js',
    source: SOURCE,
    args: { n: commands },
    asked: { project_id: 'home', graph_session_id: SESSION, slug: 'test', queued_at_ms: 1 },
    onEvent: () => {},
    ...changes,
  };
}

const DONE: RunOutcome = { status: 'completed', resultJson: '1', error: null, totalTokens: 0, reportedCost: null };

function handEngine(clock: VirtualClock, played: Map<string, PlayedRun>): Engine {
  function start(run: GraphRun): RunningGraph {
    const { promise, resolve } = Promise.withResolvers<RunOutcome>();
    const running: RunningGraph = {
      done: promise,
      cancel: (reason) => resolve({ ...DONE, status: 'cancelled', resultJson: null, error: reason }),
    };
    const end = (outcome: Partial<RunOutcome> = {}) => resolve({ ...DONE, ...outcome });
    const emit = (...events: GraphEvent[]) => {
      for (const event of events) run.onEvent(event);
    };
    played.set(run.commandId, { commandId: run.commandId, run, running, heard: [], emit, end });
    clock.trace(run.commandId);
    return running;
  }
  return { start, close: async () => {} };
}

export function log(message: string): GraphEvent {
  return { type: 'log', message };
}

/** An agent, from its start to its answer; it takes 7 tokens. */
export function agentEvents(agent: number, prompt: string, answer: string): GraphEvent[] {
  return [
    { type: 'agent_started', agent, label: `agent ${agent}`, wave: 1, model: null, prompt },
    { type: 'agent_finished', agent, ok: true, tokens: 7, cost: 0.5, duration_ms: 5, answer, error: null },
  ];
}
