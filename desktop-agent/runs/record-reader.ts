/**
 * Records as they are read: which one is meant, how the run is in a line, and all that there is of it.
 *
 * Owns what a record means that has no end: its run goes on, or its process died. Reads files only; what goes on in this
 * process is told of by who knows it.
 */
import { RelayError } from '../../protocol/errors.ts';
import { RESTARTED_DURING_RUN } from '../../protocol/texts.ts';
import { commandIdOf, type RecordFiles, type RecordName } from './record-files.ts';
import {
  type EndLine,
  type EventLine,
  type GraphLine,
  type NestedLine,
  parseLine,
  type RecordLine,
  type ResultLine,
  type RunLine,
} from './record-lines.ts';
import type { Recording } from './recording.ts';
import { RunCounter, type RunNow } from './run-counter.ts';

/** Of a run that nobody asked for but the owner. */
const PROCESS_ENDED = 'its process ended during the run';

/** One run, as the owner's commands show it. Instants are ISO 8601. */
export interface RunSummary {
  readonly command_id: string;
  readonly execution_id: string;
  readonly status: 'running' | 'awaiting_approval' | 'completed' | 'failed' | 'cancelled';
  readonly project_id: string | null;
  readonly graph_session_id: string | null;
  /** Slug, or the file's name for a Graph that is no session. */
  readonly graph: string;
  readonly version: number | null;
  readonly started_at: string;
  readonly ended_at: string | null;
  /** Until now for a run that goes on; until the last event of a run whose desktop died. */
  readonly duration_ms: number;
  readonly total_tokens: number;
  readonly reported_cost: number | null;
  readonly error: string | null;
  /** Length of the result as JSON; null when there is none, or it could not be kept. */
  readonly result_chars: number | null;
  /** The tool that waits for the owner's decision. */
  readonly waits_for: string | null;
  /** Something of the run is not in its record, so that a replay may miss it. */
  readonly incomplete: boolean;
}

export interface RunRecord {
  readonly name: RecordName;
  readonly head: RunLine;
  readonly graph: GraphLine | null;
  readonly nested: readonly NestedLine[];
  readonly events: readonly EventLine[];
  readonly result: ResultLine | null;
  readonly end: EndLine | null;
  /** Lines that could not be read. */
  readonly unreadable: number;
}

/** The record of `names` that is meant: by the run's id, the beginning of it, or `last`. */
export function findRecord(names: readonly RecordName[], reference: string): RecordName {
  const wanted = reference.toLowerCase();
  const latest = names.at(-1);
  if (wanted === 'last' && latest !== undefined) return latest;
  const found = wanted === '' ? [] : names.filter((name) => commandIdOf(name).startsWith(wanted));
  // A command that was offered again after a crash has two records: the later one is meant.
  const ids = new Set(found.map(commandIdOf));
  const [id] = ids;
  if (ids.size === 1 && id !== undefined) return found.at(-1) as RecordName;
  if (ids.size === 0) {
    const hint = latest === undefined ? 'Nothing has run here yet.' : '`graph-relay desktop runs` lists them.';
    throw new RelayError('unknown-command', `There is no run "${reference}" in the history of this desktop. ${hint}`);
  }
  const some = [...ids].slice(-5).join(', ');
  throw new RelayError(
    'invalid-input',
    `"${reference}" is the beginning of ${ids.size} runs: ${some}. Give more of it.`,
  );
}

/** All of a record. With `visit`, events are handed to it instead of being collected. */
export async function readRecord(
  files: RecordFiles,
  name: RecordName,
  visit?: (line: EventLine) => void,
): Promise<RunRecord> {
  const lines: { -readonly [K in RecordLine['kind']]?: Extract<RecordLine, { kind: K }> } = {};
  const nested: NestedLine[] = [];
  const events: EventLine[] = [];
  let unreadable = 0;
  for await (const text of files.lines(name)) {
    const line = parseLine(text);
    if (line === null) unreadable += 1;
    else if (line.kind === 'event') visit === undefined ? events.push(line) : visit(line);
    else if (line.kind === 'nested') nested.push(line);
    else Object.assign(lines, { [line.kind]: line });
  }
  const { run: head, graph = null, result = null, end = null } = lines;
  if (head === undefined) {
    throw new RelayError(
      'invalid-input',
      `The record of run ${commandIdOf(name)} cannot be read: it has no beginning.`,
    );
  }
  return { name, head, graph, nested, events, result, end, unreadable };
}

/** The result as JSON text; null when there is none, or it could not be kept. */
export async function resultOf(files: RecordFiles, record: RunRecord): Promise<string | null> {
  if (record.result === null) return null;
  return record.result.json ?? (await files.readResult(record.name));
}

/** Null for a record that cannot be read. */
export async function summaryOf(files: RecordFiles, name: RecordName): Promise<RunSummary | null> {
  const [first, last] = await Promise.all([files.firstLine(name), files.lastLine(name)]);
  const head = parseLine(first ?? '');
  const end = parseLine(last ?? '');
  if (head?.kind !== 'run') return null;
  // The usual case reads two ends of a file. What has no end has to be counted up.
  if (end?.kind === 'end' && end.duration_ms !== null) return endedSummary(head, end, end);
  const counted = await readCounted(files, name);
  const goesOn = counted.record.end === null && head.process !== null && (await files.isAlive(head.process));
  return goesOn ? runningSummary(head, counted) : diedSummary(counted);
}

interface Counted extends RunNow {
  readonly record: RunRecord;
}

async function readCounted(files: RecordFiles, name: RecordName): Promise<Counted> {
  const counter = new RunCounter();
  let durationMs = 0;
  const record = await readRecord(files, name, ({ event, after_ms }) => {
    durationMs = after_ms;
    counter.count(event);
  });
  return { record, ...counter.at(durationMs) };
}

function diedSummary({ record, tokens, cost, durationMs }: Counted): RunSummary {
  const { head, end } = record;
  const { status, error } = end ?? {
    status: 'failed',
    error: head.project_id === null ? PROCESS_ENDED : RESTARTED_DURING_RUN,
  };
  const counted = { status, error, duration_ms: durationMs, total_tokens: tokens, reported_cost: cost };
  return { ...endedSummary(head, end, counted), incomplete: true };
}

function endedSummary(
  head: RunLine,
  end: EndLine | null,
  shown: Pick<EndLine, 'status' | 'error' | 'total_tokens' | 'reported_cost' | 'duration_ms'>,
): RunSummary {
  return {
    ...summaryHead(head),
    status: shown.status,
    ended_at: end === null || end.duration_ms === null ? null : iso(end.at_ms),
    duration_ms: shown.duration_ms ?? 0,
    total_tokens: shown.total_tokens,
    reported_cost: shown.reported_cost,
    error: shown.error,
    result_chars: end?.result_kept ? end.result_chars : null,
    waits_for: null,
    incomplete: end === null || isIncomplete(end),
  };
}

/** A run that goes on here, or has ended and is not on the disk yet. */
export function liveSummary({ head, end, now }: Recording): RunSummary {
  return end === null ? runningSummary(head, now) : endedSummary(head, end, end);
}

function runningSummary(head: RunLine, { durationMs, tokens, cost, waitsFor }: RunNow): RunSummary {
  return {
    ...summaryHead(head),
    status: waitsFor === null ? 'running' : 'awaiting_approval',
    ended_at: null,
    duration_ms: durationMs,
    total_tokens: tokens,
    reported_cost: cost,
    error: null,
    result_chars: null,
    waits_for: waitsFor,
    incomplete: false,
  };
}

function summaryHead(head: RunLine) {
  return {
    command_id: head.command_id,
    execution_id: head.execution_id,
    project_id: head.project_id,
    graph_session_id: head.graph_session_id,
    graph: head.slug ?? head.file_name,
    version: head.version,
    started_at: iso(head.started_at_ms),
  };
}

export function isIncomplete(end: EndLine): boolean {
  return end.cut_texts + end.dropped_events + end.lost_lines > 0 || !end.result_kept || end.duration_ms === null;
}

function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
