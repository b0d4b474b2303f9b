/** What `live` writes down beside the head that all results have, as zod schemas. Durations in milliseconds unless a name says otherwise. */
import { z } from 'zod';
import { summarySchema } from '../statistics.ts';
import { workloadSchema } from '../workloads/workload.ts';

const verdictSchema = z.enum(['PASS', 'FAIL']);

const floorSchema = z.strictObject({
  /** A bare held answer of node:http: there and back again. */
  exchange_ms: summarySchema,
  append_ms: summarySchema,
});
export type FloorFound = z.infer<typeof floorSchema>;

const layersSchema = z.strictObject({
  mode: z.string(),
  /** In their order; together they are the pickup. */
  steps: z.array(z.strictObject({ from: z.string(), to: z.string(), ms: summarySchema })),
  pickup_ms: summarySchema,
  /** From the call until the ticket, which is on disk. */
  ticket_ms: summarySchema,
  /** Medians. */
  pickup_to_exchange: z.number(),
  ticket_to_append: z.number(),
});
export type LayersFound = z.infer<typeof layersSchema>;

/** By run, in the order of rounds; null where a run has none. */
const samplesSchema = z.record(z.string(), z.array(z.number().nullable()));
export type LiveSamples = z.infer<typeof samplesSchema>;

const figureSchema = z.strictObject({
  name: z.string(),
  statistic: z.enum(['mean', 'median', 'p95']),
  unit: z.enum(['ms', 'calls', 'share']),
  /** Runs that have it on both sides. */
  n: z.int(),
  virtual: z.number().nullable(),
  real: z.number().nullable(),
  /** How far they may be apart: what the sample leaves to chance, and what the machine adds. */
  error: z.strictObject({ chance: z.number(), machine: z.number(), total: z.number() }),
  verdict: verdictSchema,
});
export type Figure = z.infer<typeof figureSchema>;

const cellSchema = z.strictObject({
  mode: z.string(),
  rounds: z.int(),
  runs: z.int(),
  /** What this machine adds to a pickup, and to the news of an end, in this mode. */
  machine: z.strictObject({
    exchange_p99_ms: z.number(),
    append_p99_ms: z.number(),
    own_ms: z.number(),
    total_ms: z.number(),
  }),
  figures: z.array(figureSchema),
  samples: z.strictObject({ virtual: samplesSchema, real: samplesSchema }),
});
export type LiveCell = z.infer<typeof cellSchema>;

const heldLevelSchema = z.strictObject({
  held: z.int(),
  /** What was in the way; null when nothing was. */
  missing: z.string().nullable(),
  failed: z.int(),
  measured: z
    .strictObject({
      /** Answered, and sent again, while it was watched. */
      requests: z.int(),
      watched_s: z.number(),
      rss_bytes: z.number(),
      rss_none_bytes: z.number(),
      rss_bytes_per_held: z.number(),
      /** On the heap and beside it, without garbage. */
      kept_bytes_per_held: z.number(),
      /** Of one core. */
      cpu_share: z.number(),
      cpu_us_per_request: z.number().nullable(),
    })
    .nullable(),
});
export type HeldLevel = z.infer<typeof heldLevelSchema>;

export const liveBody = {
  kind: z.literal('live'),
  quick: z.boolean(),
  verdict: verdictSchema,
  workload: workloadSchema,
  /** Of each mode. */
  desktops: z.int(),
  floor: z.strictObject({
    append_bytes: z.int(),
    /** Between the runs of the layers, on a machine that does nothing else of ours. */
    alone: floorSchema,
    /** Beside all desktops. */
    beside: floorSchema,
  }),
  layers: z.array(layersSchema),
  /** Standard errors that chance is given. */
  standard_errors: z.number(),
  cells: z.array(cellSchema),
  held: z.array(heldLevelSchema),
  /** What else went on: processes that wanted to run, on average over a minute. */
  load: z.strictObject({ before: z.number(), after: z.number() }),
};
