/**
 * The history of runs on this desktop: each one is recorded while it goes on, shown live, and kept for later.
 *
 * Owns which runs go on, and what is kept of those that are over. A fault in here, whatever it is, is a line of the log
 * and never a run's: what decides about a run is the journal and the outbox, a record is for people.
 */
import type { Ports } from '../../protocol/ports.ts';
import { pause } from '../../protocol/waiting.ts';
import type { ExecutionIds } from '../execution-journal.ts';
import type { GraphRun, RunningGraph, RunOutcome } from '../ports.ts';
import type { GraphEvent } from '../run-events.ts';
import type { CalledGraph } from './handed-out-graphs.ts';
import { DEFAULT_HISTORY_LIMITS, type HistoryLimits } from './history-limits.ts';
import { KeptRecords } from './kept-records.ts';
import { commandIdOf, type RecordFiles, type RecordName, recordName } from './record-files.ts';
import { type EndLine, type NestedLine, type ProcessMark, parseLine } from './record-lines.ts';
import { RecordWriter, type WaitingBytes } from './record-writer.ts';
import { type RecordedSession, Recording } from './recording.ts';
import { RunFeed } from './run-feed.ts';

export interface RunHistoryOptions {
  readonly ports: Pick<Ports, 'clock' | 'ids' | 'log'>;
  readonly files: RecordFiles;
  /** What is known of a session at this moment. */
  readonly sessionOf?: (graphSessionId: string) => RecordedSession | null;
  /** A Graph that was called, as it was handed out last. */
  readonly nested?: (called: CalledGraph) => NestedLine | null;
  /** What differs from {@link DEFAULT_HISTORY_LIMITS}. */
  readonly limits?: Partial<HistoryLimits>;
}

/** What a run tells. None of these throws. */
export interface WatchedRun {
  event(event: GraphEvent): void;
  running(running: RunningGraph): void;
  ended(outcome: RunOutcome): void;
}

interface Live {
  readonly recording: Recording;
  readonly writer: RecordWriter;
  running: RunningGraph | null;
}

export class RunHistory {
  readonly feed: RunFeed;
  readonly limits: HistoryLimits;
  readonly #options: RunHistoryOptions;
  readonly #kept: KeptRecords;
  readonly #waiting: WaitingBytes = { bytes: 0 };
  /** Runs that go on, and those whose end the disk has not taken yet, by the record's name. */
  readonly #live = new Map<RecordName, Live>();
  #process: ProcessMark | null = null;
  /** What is done behind the runs' backs: one after another, so that two removals never meet. */
  #work: Promise<unknown> = Promise.resolve();

  constructor(options: RunHistoryOptions) {
    const { ports, files } = options;
    this.#options = options;
    this.limits = { ...DEFAULT_HISTORY_LIMITS, ...options.limits };
    this.feed = new RunFeed({ ...ports, limits: this.limits });
    this.#kept = new KeptRecords({
      files,
      log: ports.log,
      limits: this.limits,
      goesOn: (name) => this.#live.has(name),
    });
  }

  /** Makes the folder, and then removes what is too much. A disk that refuses is no reason not to start. */
  async open(): Promise<void> {
    const { files } = this.#options;
    await this.#later(async () => {
      this.#process = await files.thisProcess();
      await files.prepare();
    });
    void this.#later(() => this.#kept.look());
  }

  begin(run: GraphRun): WatchedRun {
    const live = this.#guarded(run.commandId, () => this.#start(run)) ?? null;
    const { commandId } = run;
    return {
      event: (event) => {
        this.#guarded(commandId, () => live && this.feed.publish(commandId, live.recording.event(event)));
      },
      running: (running) => {
        if (live !== null) live.running = running;
      },
      ended: (outcome) => {
        if (live !== null) void this.#end(live, outcome);
      },
    };
  }

  /** Runs that go on, or whose end is known here and not yet on the disk. */
  live(): Recording[] {
    this.#forgetWritten();
    return [...this.#live.values()].map(({ recording }) => recording);
  }

  /** Stops a run that goes on. False when there is none with this id. */
  cancel(commandId: string, reason: string): boolean {
    const live = [...this.#live.values()].find(({ recording }) => recording.head.command_id === commandId);
    if (live === undefined || live.running === null || live.recording.end !== null) return false;
    live.running.cancel(reason);
    return true;
  }

  /** How a run ended that the process before this one began: what the relay and the journal have settled. */
  readonly settled = (ids: ExecutionIds, outcome: RunOutcome): void => {
    const { files, ports } = this.#options;
    void this.#later(async () => {
      const name = (await files.names()).findLast((each) => commandIdOf(each) === ids.commandId);
      if (name === undefined || this.#live.has(name)) return;
      const last = parseLine((await files.lastLine(name)) ?? '');
      if (last?.kind === 'end') return;
      await files.appendLine(name, JSON.stringify(settledEnd(outcome, Math.round(ports.clock.now()))));
    });
  };

  /** Resolves when all that happened until now is on the disk, or was refused. */
  async written(): Promise<void> {
    await Promise.all([...this.#live.values()].map(({ writer }) => writer.flush()));
  }

  /** Writes what waits, or at least how each run ended. Resolves when that is done, or after `graceMs`: a disk that hangs does not hold up the end. */
  async close(graceMs: number): Promise<void> {
    this.feed.close();
    const over = new AbortController();
    const all = [...this.#live.values()].map(({ writer }) => writer.end());
    const done = Promise.all([...all, this.#work]);
    await Promise.race([done, pause(this.#options.ports.clock, graceMs, over.signal)]);
    over.abort();
    for (const { writer } of this.#live.values()) writer.close();
  }

  #start(run: GraphRun): Live {
    const { ports, files, sessionOf, nested = () => null } = this.#options;
    const { clock, log } = ports;
    const startedAtMs = Math.round(clock.now());
    const name = recordName(startedAtMs, run.commandId);
    const { limits } = this;
    const writer = new RecordWriter({ files, name, commandId: run.commandId, clock, log, limits, all: this.#waiting });
    const session = run.asked === undefined ? null : (sessionOf?.(run.asked.graph_session_id) ?? null);
    const place = { name, startedAtMs, process: this.#process, session };
    const recording = new Recording({ ...place, run, files, writer, clock, limits, nested });
    const live: Live = { recording, writer, running: null };
    this.#live.set(name, live);
    this.feed.begin(run.commandId);
    return live;
  }

  async #end({ recording, writer }: Live, outcome: RunOutcome): Promise<void> {
    const { command_id } = recording.head;
    this.#guarded(command_id, () => this.feed.end(command_id));
    const written = recording.finish(outcome).catch((error) => this.#failed({ command_id }, error));
    await this.#later(async () => {
      await written;
      this.#forgetWritten();
      this.#forgetUnwritten();
      await this.#kept.look();
    });
    if (!writer.isWritten) this.#options.ports.log.warn('history.end-not-written', { command_id });
  }

  /** From now on, the record tells. */
  #forgetWritten(): void {
    for (const [name, { recording, writer }] of this.#live) {
      if (recording.end !== null && writer.isWritten) this.#live.delete(name);
    }
  }

  /** A disk that stays full: what was to be written of the oldest runs is given up. */
  #forgetUnwritten(): void {
    const over = [...this.#live.values()].filter(({ recording }) => recording.end !== null);
    for (const { recording, writer } of over.slice(0, -this.limits.runsKept)) {
      writer.close();
      this.#live.delete(recording.name);
    }
  }

  #later(work: () => Promise<void>): Promise<void> {
    const next = this.#work.then(work).catch((error) => this.#failed({}, error));
    this.#work = next;
    return next;
  }

  #guarded<T>(commandId: string, work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      this.#failed({ command_id: commandId }, error);
      return undefined;
    }
  }

  #failed(ids: object, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.ports.log.warn('history.failed', { ...ids, reason });
  }
}

function settledEnd({ status, error, totalTokens, reportedCost }: RunOutcome, atMs: number): EndLine {
  return {
    kind: 'end',
    at_ms: atMs,
    duration_ms: null,
    status,
    error,
    total_tokens: totalTokens,
    reported_cost: reportedCost,
    result_chars: null,
    cut_texts: 0,
    dropped_events: 0,
    lost_lines: 0,
    result_kept: true,
  };
}
