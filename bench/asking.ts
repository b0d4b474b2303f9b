/**
 * How a client asks for a result: pauses and waits, as data. The six ways of the post, waiting, and doing as it is told.
 *
 * Owns the shape and the named ways; `virtual/ask.ts` does the asking.
 */
import { z } from 'zod';

/** A client's pauses are what each answer tells it. */
const FOLLOW = 'check_after_seconds';

export const strategySchema = z.strictObject({
  name: z.string().min(1).max(60),
  /**
   * Seconds before the first call, the second, …; the last one again and again. Counted from the answer before. Or the
   * `check_after_seconds` of that answer, at first of the ticket.
   */
  pauses_s: z.union([z.literal(FOLLOW), z.array(z.number().min(0).max(3_600)).min(1).max(50)]),
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

/** Looks when it is told that a look is likely to find the end. */
export const FOLLOWING: Strategy = { name: 'check_after_seconds', pauses_s: FOLLOW, wait_s: 0 };

/** What is compared with each other. */
export const STRATEGIES: readonly Strategy[] = [...PUBLISHED_STRATEGIES, WAITING, FOLLOWING];
