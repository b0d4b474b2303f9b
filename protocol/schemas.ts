/**
 * The three calls of a desktop: what goes over the wire, in snake_case with the unit in the name.
 *
 * Owns shapes and bounds; knows nothing of transports. The same schemas serve tRPC over HTTP and over WebSocket, and
 * the plain-JSON route. The desktop checks answers with them too: something else may have answered.
 */
import { z } from 'zod';
import { argumentsSchemaSchema } from './arguments-schema.ts';
import { commandIdSchema, executionIdSchema, graphSessionIdSchema, instanceIdSchema, projectIdSchema } from './ids.ts';
import { isCleanText, isContainer, isDeeperThan } from './json-text.ts';
import {
  APPROVAL_WAIT_MAX_MS,
  CAPACITY_MAX,
  ERROR_CHARS,
  HOLDING_MAX,
  JSON_DEPTH,
  PREDECESSORS_MAX,
  PROJECTS_PER_SYNC,
  SESSIONS_PER_PROJECT,
  TOOL_NAME_CHARS,
} from './limits.ts';
import { cleanText } from './text.ts';

/** Text that survives every encoding: no lone surrogates, no NUL. */
function cleanTextSchema(maxChars: number) {
  return (
    z
      .string()
      // Published, and counted by zod in code points; what counts here are UTF-16 units, as everywhere.
      .max(maxChars)
      .refine((text) => text.length <= maxChars, `must have at most ${maxChars} characters`)
      .refine(isCleanText, 'holds a lone surrogate or a NUL character')
  );
}

/** A JSON object, taken as it is: `z.record` would drop a member that is called `__proto__`. */
export const jsonObjectSchema = z
  .custom<Readonly<Record<string, unknown>>>(
    (value) => isContainer(value) && !Array.isArray(value),
    'must be a JSON object',
  )
  .meta({ type: 'object' });

/** How long the caller lets the server keep the request open, in milliseconds; more than the server's limit is cut to it. */
const holdMsSchema = z.int().min(0).max(3_600_000);

/** Epoch milliseconds. */
const instantMsSchema = z.int().min(0);

/** One Graph that the owner shares with a project. */
export const sharedSessionSchema = z.object({
  graph_session_id: graphSessionIdSchema,
  name: cleanTextSchema(200).min(1),
  description: cleanTextSchema(2_000),
  /** Name of the Graph in addresses. A queued command ends when it changes. */
  slug: cleanTextSchema(100).min(1),
  /** Counts the edits of the Graph, from 1. */
  version: z.int().min(1),
  /** `ready`, or `broken` when the file does not parse; a broken one is listed and cannot run. */
  status: z.enum(['ready', 'broken']),
  /** JSON Schema of the Graph's arguments, when it has one. */
  arguments_schema: argumentsSchemaSchema.optional(),
});
export type SharedSession = z.infer<typeof sharedSessionSchema>;

export const syncInputSchema = z.object({
  /** One start of the desktop process. A newer instance replaces an older one. */
  instance_id: instanceIdSchema,
  /**
   * Earlier starts of this desktop from the same data folder, the latest first. They have ended, whatever of theirs is
   * still on its way. Said until the first answer.
   */
  predecessors: z.array(instanceIdSchema).max(PREDECESSORS_MAX).optional(),
  /** All projects that the owner has enabled on this desktop; one that is missing here is disabled. */
  projects: z
    .array(z.object({ project_id: projectIdSchema, sessions: z.array(sharedSessionSchema).max(SESSIONS_PER_PROJECT) }))
    .max(PROJECTS_PER_SYNC),
  /** Commands that the desktop has: offered, running, or finished with the completion still to be delivered. */
  holding: z.array(commandIdSchema).max(HOLDING_MAX),
  /** How many more commands the desktop can start at once. */
  capacity: z.int().min(0).max(CAPACITY_MAX),
  hold_ms: holdMsSchema,
  /**
   * A last word: the desktop takes nothing from now on, because it stops or because its machine goes to sleep. It is
   * offline at once, until its next sync without this.
   */
  leaving: z.enum(['stopping', 'asleep']).optional(),
});
export type SyncInput = z.infer<typeof syncInputSchema>;

/** A queued run, offered to the desktop. It may run only after a control of phase `starting` said so. */
export const offeredCommandSchema = z.object({
  command_id: commandIdSchema,
  project_id: projectIdSchema,
  graph_session_id: graphSessionIdSchema,
  /** The session's slug when the run was queued; the desktop compares it before running. */
  slug: z.string(),
  arguments: jsonObjectSchema,
  queued_at_ms: instantMsSchema,
});
export type OfferedCommand = z.infer<typeof offeredCommandSchema>;

export const syncAnswerSchema = z.object({
  /** Fencing token of this instance: grows with each new instance of the desktop. */
  epoch: z.int().min(1),
  commands: z.array(offeredCommandSchema),
  /** Projects of the request that this desktop may not serve, each with the reason. */
  refused_projects: z.array(z.object({ project_id: projectIdSchema, reason: z.string() })),
  /** The hold that was granted, in milliseconds; 0 when the request was not held. */
  hold_granted_ms: z.int().min(0),
  /** When to sync again, in milliseconds after this answer. */
  next_sync_ms: z.int().min(0),
});
export type SyncAnswer = z.infer<typeof syncAnswerSchema>;

/**
 * What a run waits for: its owner's word on a call of this tool. Cleaned and cut here, and never refused for its length:
 * a run that waits must still hear of a cancel.
 */
export const awaitingApprovalSchema = z.object({
  tool: z.string().overwrite((tool) => cleanText(tool, TOOL_NAME_CHARS)),
  /** For how long it has waited: two machines' clocks are not compared. */
  waiting_ms: z
    .int()
    .min(0)
    .overwrite((ms) => Math.min(ms, APPROVAL_WAIT_MAX_MS)),
});
export type AwaitingApproval = z.infer<typeof awaitingApprovalSchema>;

export const controlInputSchema = z.object({
  command_id: commandIdSchema,
  execution_id: executionIdSchema,
  /** `starting`: the ack, and the question whether to run. `running`: a cancel is asked for, again and again. */
  phase: z.enum(['starting', 'running']),
  /** The epoch of the instance that asks. Left out by a desktop of the plain contract. */
  epoch: z.int().min(1).optional(),
  /** While it is `running`: the first question to its owner that is open. Left out when none is. */
  awaiting_approval: awaitingApprovalSchema.nullish(),
  hold_ms: holdMsSchema,
});
export type ControlInput = z.infer<typeof controlInputSchema>;

/** Why a run must not start or go on. */
export const stopReasonSchema = z.enum([
  'cancelled',
  'not-shared',
  'expired',
  'ended',
  /** It waits in the queue: this execution was never told that it may run. */
  'not-started',
  'session-replaced',
  'unknown-command',
]);
export type StopReason = z.infer<typeof stopReasonSchema>;

export const controlAnswerSchema = z.object({
  /** True: do not start, or stop. */
  cancel: z.boolean(),
  reason: stopReasonSchema.nullable(),
});
export type ControlAnswer = z.infer<typeof controlAnswerSchema>;

/** How a run ended, as both versions of the contract say it. */
export const completionShape = {
  command_id: commandIdSchema,
  execution_id: executionIdSchema,
  status: z.enum(['completed', 'failed', 'cancelled']),
  /** What the Graph returned: any JSON value. */
  result: z
    .unknown()
    .refine((result) => !isDeeperThan(result, JSON_DEPTH), `is nested deeper than ${JSON_DEPTH} levels`)
    .optional(),
  /** Sent instead of `result` when the envelope would be too long; the full record stays on the desktop. */
  result_truncated: z.literal(true).optional(),
  /** Cleaned and cut here, and never refused for its characters: recording a failure must not fail. */
  error: z
    .string()
    .overwrite((text) => cleanText(text, ERROR_CHARS))
    .nullish(),
  /** Tokens that the run's agents used together. */
  total_tokens: z.int().min(0).nullish(),
  /** What the providers said the run cost, in US dollars. */
  reported_cost: z.number().min(0).nullish(),
};

export function hasBothResults(completion: { result?: unknown; result_truncated?: true | undefined }): boolean {
  return completion.result !== undefined && completion.result_truncated === true;
}

export const completeInputSchema = z
  .object({
    ...completionShape,
    /** Goes with `result_truncated`: how long the envelope would have been, in characters. */
    result_chars: z.int().min(0).optional(),
    /**
     * How many commands the desktop can start now that this run is over. Raises the capacity of its held sync, so
     * that the next command needs no further request. Left out by a completion that is sent again later.
     */
    capacity: z.int().min(0).max(CAPACITY_MAX).optional(),
  })
  .refine((completion) => !hasBothResults(completion), 'carries both result and result_truncated');
export type CompleteInput = z.infer<typeof completeInputSchema>;

export const completeAnswerSchema = z.object({
  stored: z.literal(true),
  /** True when an equal completion had been stored before, or the run had ended and this one changes nothing. */
  already: z.boolean(),
  /**
   * True when `capacity` reached a held sync of this desktop, which then needs no new request to say so. False when
   * no sync was held at that moment: it may still have been on its way, with the older capacity.
   */
  sync_raised: z.boolean(),
});
export type CompleteAnswer = z.infer<typeof completeAnswerSchema>;

/** Measures the way to the relay: held like a sync, but nothing is offered and nothing changes. */
export const probeInputSchema = z.object({ hold_ms: holdMsSchema });
export type ProbeInput = z.infer<typeof probeInputSchema>;

export const probeAnswerSchema = z.object({
  held_ms: z.number().min(0),
  /** The relay's wall clock when it answered, epoch milliseconds. */
  server_now_ms: instantMsSchema,
});
export type ProbeAnswer = z.infer<typeof probeAnswerSchema>;
