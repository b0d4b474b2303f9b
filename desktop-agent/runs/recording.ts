/**
 * One run's record while the run goes on: its lines are made here, and how the run is can be read at any moment.
 *
 * Owns the bounds of one record. It takes events and the outcome as they come, and must never throw or wait: the run
 * does not know that it is recorded.
 */
import type { Clock } from '../../protocol/ports.ts';
import { stopwatch } from '../../protocol/waiting.ts';
import type { GraphRun, RunOutcome } from '../ports.ts';
import type { GraphEvent } from '../run-events.ts';
import { type BoundedEvent, boundedEvent, hashOf } from './bounded-event.ts';
import type { CalledGraph } from './handed-out-graphs.ts';
import type { HistoryLimits } from './history-limits.ts';
import type { RecordFiles, RecordName } from './record-files.ts';
import {
  type EndLine,
  type EventLine,
  type NestedLine,
  type ProcessMark,
  RECORD_FORMAT,
  type RunLine,
} from './record-lines.ts';
import type { RecordWriter } from './record-writer.ts';
import { RunCounter, type RunNow } from './run-counter.ts';

/** Longer results are in a file of their own, as they are: putting megabytes into a line holds up the desktop. */
const RESULT_LINE_CHARS = 100_000;

/** What is known of the run's session. */
export interface RecordedSession {
  readonly name: string;
  readonly version: number;
}

export interface RecordingOptions {
  readonly name: RecordName;
  readonly startedAtMs: number;
  readonly run: GraphRun;
  readonly session: RecordedSession | null;
  readonly process: ProcessMark | null;
  readonly files: RecordFiles;
  readonly writer: RecordWriter;
  readonly clock: Clock;
  readonly limits: HistoryLimits;
  /** A Graph that was called, as it was handed out. */
  readonly nested: (called: CalledGraph) => NestedLine | null;
}

export class Recording {
  readonly head: RunLine;
  readonly #options: RecordingOptions;
  readonly #sinceStart: () => number;
  readonly #nested = new Set<string>();
  readonly #counter = new RunCounter();
  #events = 0;
  #bytes = 0;
  #cutTexts = 0;
  #dropped = 0;
  #end: EndLine | null = null;

  constructor(options: RecordingOptions) {
    this.#options = options;
    this.#sinceStart = stopwatch(options.clock);
    this.head = headOf(options);
    const { source, args } = options.run;
    this.#line(this.head);
    this.#line({ kind: 'graph', source, sha256: hashOf(source), args });
  }

  get name(): RecordName {
    return this.#options.name;
  }

  /** Set when the run is over. */
  get end(): EndLine | null {
    return this.#end;
  }

  /** How it is at this moment. */
  get now(): RunNow {
    return this.#counter.at(this.#elapsedMs());
  }

  /** Writes the event down. Returns it as those who look on see it. */
  event(event: GraphEvent): Omit<EventLine, 'kind'> {
    const { clock, limits } = this.#options;
    this.#events += 1;
    this.#counter.count(event);
    const stamp = { n: this.#events, at_ms: Math.round(clock.now()), after_ms: this.#elapsedMs() };
    if (event.type === 'graph_started') this.#noteNested(event);
    else if (event.type === 'graph_refused') this.#noteNested({ reference: event.slug });
    this.#keep({ kind: 'event', ...stamp }, event);
    return { ...stamp, ...boundedEvent(event, limits.liveTextChars) };
  }

  /** The last word. Resolves when all is written, or the disk has refused it. */
  async finish(outcome: RunOutcome): Promise<boolean> {
    const { clock, writer } = this.#options;
    const { status, error, totalTokens, reportedCost, resultJson } = outcome;
    this.#end = {
      kind: 'end',
      at_ms: Math.round(clock.now()),
      duration_ms: this.#elapsedMs(),
      status,
      error,
      total_tokens: totalTokens,
      reported_cost: reportedCost,
      result_chars: resultJson?.length ?? null,
      cut_texts: this.#cutTexts,
      dropped_events: this.#dropped,
      lost_lines: 0,
      result_kept: true,
    };
    if (resultJson !== null && !(await this.#writeResult(resultJson))) this.#end = { ...this.#end, result_kept: false };
    const end = this.#end;
    // Before it is the result: that is the first line that it stands in place of.
    writer.appendLast(({ lines, squeezed }) =>
      JSON.stringify({ ...end, lost_lines: lines, result_kept: end.result_kept && !(squeezed && resultJson !== null) }),
    );
    return writer.flush();
  }

  async #writeResult(json: string): Promise<boolean> {
    const { files, name } = this.#options;
    const isLong = json.length > RESULT_LINE_CHARS;
    try {
      if (isLong) await files.writeResult(name, json);
    } catch {
      // The disk is full: the line below says so, and half a result would be taken for a whole one.
      await files.removeResult(name).catch(() => {});
      return false;
    }
    return this.#line({ kind: 'result', chars: json.length, json: isLong ? null : json });
  }

  /** Whole while there is room; then as a few words; then only as a number. */
  #keep(stamp: Pick<EventLine, 'kind' | 'n' | 'at_ms' | 'after_ms'>, event: GraphEvent): void {
    const { textChars, briefChars, recordBytes, reserveBytes } = this.#options.limits;
    const fits = (bounded: BoundedEvent, room: number) => {
      const line = JSON.stringify({ ...stamp, ...bounded });
      const bytes = Buffer.byteLength(line);
      if (this.#bytes + bytes > room) return false;
      this.#bytes += bytes;
      this.#cutTexts += Object.keys(bounded.cut ?? {}).length;
      this.#options.writer.append(line);
      return true;
    };
    let isKept = false;
    try {
      isKept =
        fits(boundedEvent(event, textChars), recordBytes) ||
        fits(boundedEvent(event, briefChars), recordBytes + reserveBytes);
    } finally {
      if (!isKept) this.#dropped += 1;
    }
  }

  /** Once for each Graph that is called, and each name that it is called by: its text as it was handed out. */
  #noteNested(called: CalledGraph): void {
    const line = this.#options.nested(called);
    if (line === null) return;
    const { sha256, references } = line;
    const key = JSON.stringify([sha256, references]);
    if (this.#nested.has(key)) return;
    this.#nested.add(key);
    this.#line(line);
  }

  #line(line: object): boolean {
    return this.#options.writer.append(JSON.stringify(line));
  }

  #elapsedMs(): number {
    return Math.max(0, Math.round(this.#sinceStart()));
  }
}

function headOf({ run, session, process, startedAtMs }: RecordingOptions): RunLine {
  const { asked } = run;
  return {
    kind: 'run',
    format: RECORD_FORMAT,
    command_id: run.commandId,
    execution_id: run.executionId,
    channel: run.channel,
    project_id: asked?.project_id ?? null,
    graph_session_id: asked?.graph_session_id ?? null,
    slug: asked?.slug ?? null,
    version: session?.version ?? null,
    graph_name: session?.name ?? null,
    file_name: run.name,
    queued_at_ms: asked?.queued_at_ms ?? null,
    started_at_ms: startedAtMs,
    process,
  };
}
