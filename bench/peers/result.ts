/** What `peers` writes down beside what all results have, as zod schemas. Latencies in microseconds. */
import { z } from 'zod';

/** A figure of each round: its median, and how far the rounds lie apart. */
const overRoundsSchema = z.strictObject({
  median: z.number(),
  p25: z.number(),
  p75: z.number(),
  min: z.number(),
  max: z.number(),
});
export type OverRounds = z.infer<typeof overRoundsSchema>;

const latencySchema = z.strictObject({ p50: overRoundsSchema, p99: z.number() });
export type Latency = z.infer<typeof latencySchema>;

const subjectSchema = z.strictObject({
  name: z.string(),
  setting: z.string(),
  durable: z.boolean(),
  versions: z.record(z.string(), z.string()),
  result_by: z.string(),
  /** From the caller's call until it is told that the job was taken. */
  ack_us: latencySchema,
  /** From the same call until the worker's process has the job. */
  pickup_us: latencySchema,
  /** From the same call until the caller has the result. */
  round_trip_us: latencySchema,
  runs_per_s_alone: overRoundsSchema,
  runs_per_s_at_once: overRoundsSchema,
  pickup_to_floor: overRoundsSchema,
});
export type SubjectReport = z.infer<typeof subjectSchema>;

/** One that could not be measured, or not to the end. */
const leftOutSchema = z.strictObject({
  name: z.string(),
  setting: z.string(),
  reason: z.string(),
  /** Null when the reader can do nothing about it: it broke while it was measured. */
  remedy: z.string().nullable(),
});
export type LeftOut = z.infer<typeof leftOutSchema>;

export const peersBody = {
  kind: z.literal('peers'),
  rounds: z.int(),
  runs_per_round: z.int(),
  busy_ms: z.int(),
  at_once: z.int(),
  payload_bytes: z.int(),
  subjects: z.array(subjectSchema),
  missing: z.array(leftOutSchema),
  broken: z.array(leftOutSchema),
  /** Who was asked in which order, round by round. */
  order: z.array(z.array(z.string())),
};
