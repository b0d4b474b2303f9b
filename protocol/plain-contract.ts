/**
 * Version 1 of the desktop's contract, the published one, in plain JSON: one project a sync, and no instance, epoch,
 * ack or hold.
 *
 * Owns its shapes, made of the same parts as `schemas.ts`. What its desktops do, and what follows from that for their
 * commands, is in `server/plain-calls.ts`.
 */
import { z } from 'zod';
import { commandIdSchema, instanceIdSchema, projectIdSchema, uuidSchema } from './ids.ts';
import { SESSIONS_PER_PROJECT } from './limits.ts';
import {
  completionShape,
  controlAnswerSchema,
  hasBothResults,
  offeredCommandSchema,
  sharedSessionSchema,
} from './schemas.ts';

/** Where its calls go, below the server's address: `/sync`, `/control` and `/complete`. */
export const PLAIN_PATH = '/external-assistants/graph-relays';

export const plainSyncInputSchema = z.object({
  project_id: projectIdSchema,
  /** All that is shared with this project; an empty list ends the sharing. Other projects stay as they are. */
  sessions: z.array(sharedSessionSchema).max(SESSIONS_PER_PROJECT),
  /** One start of the desktop. With it, a newer start takes over from an older one at once. */
  instance_id: instanceIdSchema.optional(),
});
export type PlainSyncInput = z.infer<typeof plainSyncInputSchema>;

export const plainSyncAnswerSchema = z.object({
  /** What is queued for this project, in the order in which it is to run. */
  commands: z.array(offeredCommandSchema),
});
export type PlainSyncAnswer = z.infer<typeof plainSyncAnswerSchema>;

/** The desktop's own name for one run of a command. A UUID matches in any case, anything else exactly. */
const plainExecutionIdSchema = z.union([
  uuidSchema,
  z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/, 'is not an execution id: expected 1-64 letters, digits, dashes or underscores'),
]);

/** Asked each 3 s while a command runs; better still, once before it is run. The first one starts it. */
export const plainControlInputSchema = z.object({
  command_id: commandIdSchema,
  execution_id: plainExecutionIdSchema.optional(),
});
export type PlainControlInput = z.infer<typeof plainControlInputSchema>;

export const plainControlAnswerSchema = controlAnswerSchema;

export const plainCompleteInputSchema = z
  .object({ ...completionShape, execution_id: plainExecutionIdSchema })
  .refine((completion) => !hasBothResults(completion), 'carries both result and result_truncated');
export type PlainCompleteInput = z.infer<typeof plainCompleteInputSchema>;

export const plainCompleteAnswerSchema = z.object({
  stored: z.literal(true),
  /** True when it had been stored before, or the run had ended and this changes nothing. */
  already: z.boolean(),
});
export type PlainCompleteAnswer = z.infer<typeof plainCompleteAnswerSchema>;
