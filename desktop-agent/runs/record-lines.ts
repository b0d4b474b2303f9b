/**
 * The lines of a run's record: one JSON object each, in the order in which they were written.
 *
 * Owns the shapes. A record begins with `run` and `graph`, has the events of the run with `nested` between them for
 * each Graph that was called, and ends with `result` (when there is one) and `end`. A record without `end` is that of
 * a run that goes on, or whose process died.
 */
import { z } from 'zod';
import { commandIdSchema, executionIdSchema } from '../../protocol/ids.ts';
import { graphEventSchema } from '../run-events.ts';

/** Grows when older programs would misread a record. */
export const RECORD_FORMAT = 1;

const count = z.int().min(0);
/** Epoch milliseconds. */
const instant = z.int();

/** A process, told from later ones with the same number. */
export const processMarkSchema = z.object({ pid: z.int(), start: z.string() });
export type ProcessMark = z.infer<typeof processMarkSchema>;

export const runLineSchema = z.object({
  kind: z.literal('run'),
  format: z.literal(RECORD_FORMAT),
  command_id: commandIdSchema,
  execution_id: executionIdSchema,
  channel: z.string(),
  /** Who asked for it; null when nobody did but the owner. */
  project_id: z.string().nullable(),
  graph_session_id: z.string().nullable(),
  /** As they were when the run began; null for a Graph that is no session. */
  slug: z.string().nullable(),
  version: z.int().nullable(),
  graph_name: z.string().nullable(),
  file_name: z.string(),
  queued_at_ms: instant.nullable(),
  started_at_ms: instant,
  /** Where it runs: a record without an end is that of a run that goes on for as long as this process lives. */
  process: processMarkSchema.nullable(),
});
export type RunLine = z.infer<typeof runLineSchema>;

/** The Graph as it ran: a replay needs it. */
export const graphLineSchema = z.object({
  kind: z.literal('graph'),
  source: z.string(),
  sha256: z.string(),
  args: z.unknown(),
});
export type GraphLine = z.infer<typeof graphLineSchema>;

/** A Graph that was called, as it ran. */
export const nestedLineSchema = z.object({
  kind: z.literal('nested'),
  slug: z.string(),
  version: z.int().nullable(),
  file_name: z.string(),
  source: z.string(),
  sha256: z.string(),
  /** What the Graphs of this run called it by. */
  references: z.array(z.string()),
});
export type NestedLine = z.infer<typeof nestedLineSchema>;

export const eventLineSchema = z.object({
  kind: z.literal('event'),
  /** Counts the events of the run, from 1. */
  n: z.int().min(1),
  at_ms: instant,
  /** Since the run began; unlike `at_ms`, never goes back. */
  after_ms: count,
  event: graphEventSchema,
  /** The members that are not there whole. */
  cut: z.record(z.string(), z.object({ chars: count, sha256: z.string() })).optional(),
});
export type EventLine = z.infer<typeof eventLineSchema>;

export const resultLineSchema = z.object({
  kind: z.literal('result'),
  chars: count,
  /** The result as JSON text; null when it is in a file of its own. */
  json: z.string().nullable(),
});
export type ResultLine = z.infer<typeof resultLineSchema>;

export const endLineSchema = z.object({
  kind: z.literal('end'),
  at_ms: instant,
  /** Null when the desktop died during the run: nobody saw its end. */
  duration_ms: count.nullable(),
  status: z.enum(['completed', 'failed', 'cancelled']),
  error: z.string().nullable(),
  total_tokens: count,
  reported_cost: z.number().nullable(),
  /** Length of the result as JSON; null when there is none. */
  result_chars: count.nullable(),
  /** Texts that were cut, events that were left out, lines that a disk did not take: what a replay may miss. */
  cut_texts: count,
  dropped_events: count,
  lost_lines: count,
  /** False when there was a result, and it could not be written. */
  result_kept: z.boolean(),
});
export type EndLine = z.infer<typeof endLineSchema>;

const lineSchema = z.discriminatedUnion('kind', [
  runLineSchema,
  graphLineSchema,
  nestedLineSchema,
  eventLineSchema,
  resultLineSchema,
  endLineSchema,
]);
export type RecordLine = z.infer<typeof lineSchema>;

/** Null for a line that is no line of ours, or of a later version. */
export function parseLine(text: string): RecordLine | null {
  try {
    const parsed = lineSchema.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
