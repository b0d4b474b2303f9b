/**
 * How a client asks for a result: pauses and waits, as data. The six ways of the post, and waiting.
 *
 * Owns the shape and the named ways; `virtual/ask.ts` does the asking.
 */
import { z } from 'zod';

export const strategySchema = z.strictObject({
  name: z.string().min(1).max(60),
  /** Seconds before the first call, the second, …; the last one again and again. Counted from the answer before. */
  pauses_s: z.array(z.number().min(0).max(3_600)).min(1).max(50),
  /** `wait_seconds` of each call; 0 asks for an answer at once. */
  wait_s: z.number().min(0).max(50),
});
export type Strategy = z.infer<typeof strategySchema>;

/** In the order and the words of the post. */
export const PUBLISHED_STRATEGIES: readonly Strategy[] = [
  { name: 'every 2 s', pauses_s: [2], wait_s: 0 },
  { name: 'every 5 s', pauses_s: [5], wait_s: 0 },
  { name: 'every 15 s', pauses_s: [15], wait_s: 0 },
  { name: 'every 30 s', pauses_s: [30], wait_s: 0 },
  { name: 'backoff 2, 4, 8 … 30 s', pauses_s: [2, 4, 8, 16, 30], wait_s: 0 },
  { name: 'wait 20 s, then every 10 s', pauses_s: [20, 10], wait_s: 0 },
];

/** A model needs about a second between an answer and its next call. */
export const WAITING: Strategy = { name: 'wait_seconds 50', pauses_s: [1], wait_s: 50 };
