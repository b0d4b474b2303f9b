/** What `predict` writes down beside the head of results in virtual time, as zod schemas. */
import { z } from 'zod';

const askingSchema = z.strictObject({
  strategy: z.string(),
  calls_per_day: z.number(),
  /** Estimated: of all that the endpoint sends and is sent, and where a model reads the words alone. */
  tokens_per_day: z.number(),
  tokens_words_per_day: z.number(),
  late_mean_s: z.number(),
});

const daySchema = z.strictObject({
  mode: z.string(),
  /** Queued until the relay has the result, and queued until it begins. */
  turnaround_mean_s: z.number(),
  pickup_mean_s: z.number(),
  /** All runs of a day together, against the first mode; the interval holds 95 % of bootstrapped means. */
  saved_s_per_day: z.strictObject({ mean: z.number(), low: z.number(), high: z.number() }),
  requests_per_day: z.number(),
  bytes_per_day: z.number(),
  wakeups_per_day: z.number(),
  asking: z.array(askingSchema),
});
export type Day = z.infer<typeof daySchema>;

/** `prices` is the schema of a price; it is written down where the others are. */
export function predictBody<P extends z.ZodType>(prices: P) {
  return {
    kind: z.literal('predict' as const),
    runs_per_day: z.int(),
    /** Between desktop and relay, there and back. */
    rtt_ms: z.number(),
    /** Null: as in the post. */
    run_s: z.number().nullable(),
    /** In the order of `modes`; the first one is what the others are held against. */
    days: z.array(daySchema),
    /** What the days are computed from. */
    measured: z.array(z.strictObject({ mode: z.string(), runs: z.int(), idle: prices, busy: prices })),
  };
}
