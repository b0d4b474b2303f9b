/**
 * What the bench writes down, for whoever reads it later: one format for all its commands, as zod schemas.
 *
 * Owns the form. `kind` says which command made it. A new command adds a schema here; a change that breaks a reader gets
 * another {@link FORMAT_VERSION}. In virtual time everything but `wall_clock` and `made` follows from the command and the
 * seed; in real time (`live`, `pickup`, `peers`, `engine`) the seed draws what is asked and in which order.
 */
import { z } from 'zod';
import { engineBody } from './engine/result.ts';
import { faultSchema } from './faults/fault.ts';
import { liveBody } from './live/result.ts';
import { modeSchema } from './modes/mode.ts';
import { peersBody } from './peers/result.ts';
import { pickupBody } from './pickup/result.ts';
import { predictBody } from './predict/result.ts';
import { summarySchema } from './statistics.ts';
import { workloadSchema } from './workloads/workload.ts';

export const FORMAT = 'graph-relay-bench';
export const FORMAT_VERSION = 2;

/** The only part that differs between two runs of one command with one seed on one machine, in virtual time. */
const wallClock = { started_at: z.string(), duration_ms: z.number() };
const wallClockSchema = z.strictObject({
  ...wallClock,
  threads: z.int(),
  simulated_runs: z.int(),
  simulated_runs_per_s: z.number(),
});
export type WallClock = z.infer<typeof wallClockSchema>;

/** What all results have. */
const origin = {
  format: z.literal(FORMAT),
  format_version: z.literal(FORMAT_VERSION),
  /** The command that makes this result again. */
  command: z.string(),
  seed: z.int(),
  made: z.strictObject({
    /** Null where there is no repository; `dirty`: with changes that are in no commit. */
    commit: z.strictObject({ id: z.string(), dirty: z.boolean() }).nullable(),
    versions: z.record(z.string(), z.string()),
    machine: z.strictObject({
      platform: z.string(),
      kernel: z.string(),
      cpu: z.string(),
      cores: z.int(),
      memory_gib: z.number(),
    }),
  }),
};

const head = {
  ...origin,
  runs: z.int(),
  /** What lies between the two sides in virtual time; in `live`, what this machine was found to have. */
  conditions: z.strictObject({ way_ms: z.number(), disk_ms: z.number() }),
  modes: z.array(modeSchema),
  wall_clock: wallClockSchema,
};

/** What else the machine did, where time was real. */
const surroundingsSchema = z.strictObject({
  /** Work that wanted a core in the minute before, all processes of the machine. */
  load_before: z.number(),
  /** True: "durable" costs nothing here and means nothing. */
  temporary_files_in_memory: z.boolean(),
});
export type Surroundings = z.infer<typeof surroundingsSchema>;

/** Instants in seconds after a round's first start call: what a Gantt chart needs. */
const barSchema = z.strictObject({
  queued_s: z.number(),
  started_s: z.number().nullable(),
  ended_s: z.number().nullable(),
  known_s: z.number(),
});
export type Bar = z.infer<typeof barSchema>;

const publishedRowSchema = z.strictObject({
  name: z.string(),
  unit: z.enum(['s', 'calls', 'runs', 'characters', 'bytes', '']),
  digits: z.int(),
  published: z.union([z.number(), z.string()]).nullable(),
  /** In the order of `modes`; the first one is judged. */
  ours: z.array(z.union([z.number(), z.string()]).nullable()),
  /** Where the published figure has to be; null: not a number, or not published. */
  accepted: z.strictObject({ low: z.number().nullable(), high: z.number().nullable() }).nullable(),
  rule: z.enum(['mean', 'percentile', 'greatest', 'count', 'draw', 'range', 'exact']).nullable(),
  verdict: z.enum(['PASS', 'FAIL']).nullable(),
});
export type PublishedRow = z.infer<typeof publishedRowSchema>;

const publishedTableSchema = z.strictObject({
  name: z.string(),
  title: z.string(),
  /** Sample sizes; null: the post does not say. */
  n: z.strictObject({ published: z.int().nullable(), ours: z.array(z.int()) }),
  notes: z.array(z.string()),
  rows: z.array(publishedRowSchema),
});
export type PublishedTable = z.infer<typeof publishedTableSchema>;

export const publishedResultSchema = z.strictObject({
  ...head,
  kind: z.literal('published'),
  verdict: z.enum(['PASS', 'FAIL']),
  tables: z.array(publishedTableSchema),
  /** Of the pickup wait, in seconds: the 0th, 1st, … 100th percentile of each mode. */
  pickup_percentiles_s: z.array(z.array(z.number())),
  /** The first round of five at once in each mode, with one slot. */
  fanout_bars: z.array(z.array(barSchema)),
});
export type PublishedResult = z.infer<typeof publishedResultSchema>;

const priceSchema = z.strictObject({
  hours: z.number(),
  requests_per_hour: z.number(),
  bytes_per_hour: z.number(),
  held_mean: z.number(),
  held_most: z.number(),
  wakeups_per_hour: z.number(),
});

/** Milliseconds; by run, in the order of rounds. Null where a run has none: one that never began has no pickup. */
const samplesSchema = z.record(z.string(), z.array(z.number().nullable()));

const askingSchema = z.strictObject({
  strategy: z.string(),
  calls: summarySchema,
  late_ms: summarySchema,
  /** Estimated, per run: of all that the endpoint sends and is sent, and where a model reads the words alone. */
  tokens_mean: z.number(),
  tokens_words_mean: z.number(),
});

const cellSchema = z.strictObject({
  mode: z.string(),
  workload: z.string(),
  fault: z.string(),
  rounds: z.int(),
  runs: z.int(),
  ends: z.record(z.string(), z.int()),
  metrics: z.record(z.string(), summarySchema.nullable()),
  samples: samplesSchema,
  first_round: z.array(barSchema),
  asking: z.array(askingSchema),
  busy: priceSchema,
});
export type Cell = z.infer<typeof cellSchema>;

const differenceSchema = z.strictObject({
  workload: z.string(),
  fault: z.string(),
  metric: z.string(),
  mode: z.string(),
  against: z.string(),
  n: z.int(),
  /** `mode` minus `against`, of the same run of the same round, in milliseconds. */
  mean_ms: z.number(),
  median_ms: z.number(),
  /** Bootstrap interval of the mean, 95 %, rounds drawn whole. */
  low_ms: z.number(),
  high_ms: z.number(),
});
export type Difference = z.infer<typeof differenceSchema>;

/** The price of the same cell in two results. */
const priceChangeSchema = z.strictObject({
  mode: z.string(),
  workload: z.string().nullable(),
  fault: z.string(),
  before: priceSchema,
  after: priceSchema,
});

export const compareResultSchema = z.strictObject({
  ...head,
  kind: z.literal('compare'),
  workloads: z.array(workloadSchema),
  faults: z.array(faultSchema),
  cells: z.array(cellSchema),
  /** An hour and more without any work. */
  idle: z.array(z.strictObject({ mode: z.string(), fault: z.string(), price: priceSchema })),
  differences: z.array(differenceSchema),
  /** Against an older result, when one was given: `mode` now minus `mode` then. */
  baseline: z
    .strictObject({
      commit: z.string().nullable(),
      differences: z.array(differenceSchema),
      prices: z.array(priceChangeSchema),
    })
    .nullable(),
});
export type CompareResult = z.infer<typeof compareResultSchema>;
export type Baseline = NonNullable<CompareResult['baseline']>;

/** Real time: nothing in it but the workload follows from the seed. `runs` are the real ones. */
export const liveResultSchema = z.strictObject({ ...head, ...liveBody });
export type LiveResult = z.infer<typeof liveResultSchema>;

export const predictResultSchema = z.strictObject({ ...head, ...predictBody(priceSchema) });
export type PredictResult = z.infer<typeof predictResultSchema>;

const real = { ...origin, surroundings: surroundingsSchema, wall_clock: z.strictObject(wallClock) };

export const peersResultSchema = z.strictObject({ ...real, ...peersBody });
export type PeersResult = z.infer<typeof peersResultSchema>;

export const engineResultSchema = z.strictObject({ ...real, ...engineBody });
export type EngineResult = z.infer<typeof engineResultSchema>;

export const pickupResultSchema = z.strictObject({ ...real, ...pickupBody });
export type PickupResult = z.infer<typeof pickupResultSchema>;

const simBody = {
  kind: z.literal('sim'),
  seeds: z.int(),
  first_seed: z.int(),
  path: z.string(),
  passed: z.int(),
  failed: z.array(z.looseObject({ seed: z.int(), replay: z.string() })),
  runs: z.int(),
  events: z.int(),
  virtual_minutes: z.number(),
  /** What was thrown at them, and how often. */
  faults: z.record(z.string(), z.int()),
};

const simClockSchema = z.strictObject({
  ...wallClock,
  jobs: z.int(),
  seeds_per_s: z.number(),
  runs_per_s: z.number(),
});
export const simResultSchema = z.looseObject({ ...origin, ...simBody, wall_clock: simClockSchema });
export type SimResult = z.infer<typeof simResultSchema>;

/** The numbers of a report's figures. It is made of other results, and none is made of it. */
export const reportResultSchema = z.strictObject({
  ...origin,
  kind: z.literal('report'),
  sources: z.array(z.strictObject({ kind: z.string(), command: z.string(), seed: z.int() })),
  figures: z.array(
    z.strictObject({
      id: z.string(),
      title: z.string(),
      command: z.string(),
      seed: z.int(),
      head: z.array(z.string()),
      rows: z.array(z.array(z.string())),
    }),
  ),
  absent: z.array(z.string()),
  wall_clock: z.strictObject(wallClock),
});
export type ReportResult = z.infer<typeof reportResultSchema>;

export const benchResultSchema = z.discriminatedUnion('kind', [
  publishedResultSchema,
  compareResultSchema,
  engineResultSchema,
  liveResultSchema,
  peersResultSchema,
  pickupResultSchema,
  predictResultSchema,
  simResultSchema,
]);
export type BenchResult = z.infer<typeof benchResultSchema>;
