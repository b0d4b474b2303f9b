/**
 * The shape of a workload: what a client does in a round, as data. Virtual and real runs read the same files.
 *
 * A round begins with an idle desktop, starts runs as listed, and is over when all of them have ended. Between two
 * rounds a random time passes, so that a desktop's ticks have no fixed relation to what is asked.
 */
import { z } from 'zod';
import { strategySchema } from '../asking.ts';
import { drawSchema } from '../draws.ts';
import { nameSchema } from '../names.ts';

/** Runs at once on a desktop, at most. */
export const SLOTS_MAX = 64;

const startSchema = z.strictObject({
  /** Seconds after the round's beginning. */
  at_s: drawSchema,
  /** As many runs in that moment. */
  count: z.int().min(1).max(100),
});

export const workloadSchema = z.strictObject({
  name: nameSchema,
  about: z.string().min(1).max(300),
  /** Its rounds are drawn as those of this workload: equal runs where the starts are equal, to be compared with. */
  drawn_as: nameSchema.optional(),
  starts: z.array(startSchema).min(1).max(1_000),
  /** How long each run takes. */
  run_s: drawSchema,
  /** From a cancel until the engine has stopped. */
  stop_s: z.number().min(0).max(600),
  /** Runs at once on the desktop. */
  slots: z.int().min(1).max(SLOTS_MAX),
  /** Some or all runs are cancelled, so long after they were queued. */
  cancel: z.strictObject({ share: z.number().min(0).max(1), after_s: drawSchema }).nullable(),
  /** The desktop has no network from just before the round's beginning, for so long. */
  offline_s: z.number().min(0).max(86_400),
  /** How the client asks for results. Each way watches each run; they do not disturb each other. */
  asking: z.array(strategySchema).max(20),
});
export type Workload = z.infer<typeof workloadSchema>;

/** By this name its rounds are drawn. */
export function drawnAs({ name, drawn_as }: Pick<Workload, 'name' | 'drawn_as'>): string {
  return drawn_as ?? name;
}

/** Runs of one round. */
export function runsOf({ starts }: Workload): number {
  return starts.reduce((sum, { count }) => sum + count, 0);
}
