/**
 * Numbers that a workload draws: a length of time, how long a run takes.
 *
 * Owns the distributions and how they are written in a file; whoever draws brings the chance.
 */
import { z } from 'zod';
import type { Random } from '../protocol/ports.ts';

const secondsSchema = z
  .number()
  .min(0)
  .max(7 * 24 * 3_600);

export const drawSchema = z.union([
  secondsSchema,
  z.strictObject({ uniform: z.tuple([secondsSchema, secondsSchema]) }),
  z.strictObject({
    /** `sigma` is the deviation of the logarithm; a draw below `min` is `min`. */
    lognormal: z.strictObject({ median: secondsSchema, sigma: z.number().min(0).max(5), min: secondsSchema }),
  }),
]);
/** Seconds: a number, evenly between two, or lognormal. */
export type Draw = z.infer<typeof drawSchema>;

/** The run times of the published tables. */
export const PUBLISHED_RUN_TIME = { lognormal: { median: 60, sigma: 0.8, min: 5 } } as const satisfies Draw;

/** Milliseconds. Takes two numbers of chance whatever it draws, so that one draw never shifts the next. */
export function drawMs(draw: Draw, random: Random): number {
  const [first, second] = [random.next(), random.next()];
  if (typeof draw === 'number') return draw * 1_000;
  if ('uniform' in draw) {
    const [low, high] = draw.uniform;
    return (low + first * (high - low)) * 1_000;
  }
  const { median, sigma, min } = draw.lognormal;
  return Math.max(min, median * Math.exp(sigma * normal(first, second))) * 1_000;
}

/** A standard normal number, after Box and Muller. */
function normal(first: number, second: number): number {
  return Math.sqrt(-2 * Math.log(1 - first)) * Math.cos(2 * Math.PI * second);
}
