/** What `pickup` writes down beside what all results have, as zod schemas. Microseconds. */
import { z } from 'zod';
import { summarySchema } from '../statistics.ts';

const samplesSchema = z.array(z.number());

export const pickupBody = {
  kind: z.literal('pickup'),
  mode: z.string(),
  rounds: z.int(),
  runs_per_round: z.int(),
  floor_us: summarySchema,
  /** From the call of run_graph_session until the ticket, which is on disk, is there. */
  ticket_us: summarySchema,
  /** From the same call until the desktop's engine is told to start. */
  pickup_us: summarySchema,
  /** Medians. */
  pickup_to_floor: z.number(),
  /** In the order in which they were measured. */
  samples_us: z.strictObject({ floor: samplesSchema, ticket: samplesSchema, pickup: samplesSchema }),
};
