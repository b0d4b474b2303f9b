/** What `engine` writes down beside what all results have, as zod schemas. */
import { z } from 'zod';
import { summarySchema } from '../statistics.ts';

const samplesSchema = z.array(z.number());
/** How late the event loop was, in ms, on top of the millisecond that was asked for. */
const delaySchema = z.strictObject({ p99: z.number(), max: z.number() });
const startsSchema = z.strictObject({ warm: summarySchema, cold: summarySchema });

/** What one process of the engine measured in itself. */
export const engineFigures = {
  /** Resident, in MiB. */
  memory_mib: z.strictObject({
    /** The process with an engine and no sandbox. */
    base: z.number(),
    /** What the first sandbox of a process adds, kept warm: code that all sandboxes share is in it. */
    warm_sandbox: z.number(),
    /** What one run adds that waits for its agent. */
    run: z.number(),
    /** So many of them were there at once. */
    runs_held: z.int(),
  }),
  /** Before and after runs in a row, without a sandbox. */
  row: z.strictObject({
    runs: z.int(),
    rss_mib: z.strictObject({ before: z.number(), after: z.number() }),
    /** What keeps an event loop alive: handles, requests, timers. */
    resources: z.strictObject({ before: z.int(), after: z.int() }),
    /** Null where the system does not say. */
    threads: z.strictObject({ before: z.int(), after: z.int() }).nullable(),
    sandboxes_left: z.int(),
  }),
  /** The host thread, for a second each: without a Graph, beside one that computes, and beside one that asks without end. */
  beside_ms: z.strictObject({ quiet: delaySchema, computing: delaySchema, flooding: delaySchema }),
  /** From the engine's `start` to the first statement of the Graph, in microseconds, as measured. */
  start_us: z.strictObject({ warm: samplesSchema, cold: samplesSchema }),
};

export const engineBody = {
  kind: z.literal('engine'),
  runs: z.int(),
  start_ms: startsSchema,
  /** From the call of run_graph_session, through relay and desktop, to the first statement of the Graph. */
  queued_ms: startsSchema,
  samples_us: z.strictObject({ start: engineFigures.start_us, queued: engineFigures.start_us }),
  memory_mib: engineFigures.memory_mib,
  row: engineFigures.row,
  beside_ms: engineFigures.beside_ms,
};

export type EngineFigures = { readonly [Key in keyof typeof engineFigures]: z.infer<(typeof engineFigures)[Key]> };
