/**
 * What happens during a run: the stream on `graph:external:<command_id>`, as it is shown live and kept in the history.
 *
 * Owns the shapes. `fleet_started` is the first event of a run, exactly one `finished` the last. The numbers `agent`,
 * `call`, `graph` and `approval` count from 1 within one run, nested Graphs included. Texts are whole here; the history
 * bounds what it keeps.
 */
import { z } from 'zod';

const count = z.int().min(0);
const number = z.int().min(1);
/** Milliseconds. */
const duration = z.int().min(0);
/** US dollars; null when nobody said. */
const cost = z.number().min(0).nullable();
/** The nested Graph in which it happened, by its number; left out in the outermost. */
const within = { within: number.optional() };

/** How long an owner's decision holds: for this call, for all calls of this tool in this run, or from now on. */
export const approvalScopeSchema = z.enum(['call', 'run', 'always']);
export type ApprovalScope = z.infer<typeof approvalScopeSchema>;

export const graphEventSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('fleet_started'), run_id: z.string() }),
  z.object({ type: z.literal('phase'), title: z.string(), ...within }),
  z.object({ type: z.literal('log'), message: z.string(), ...within }),
  /** Agents that are asked for without waiting in between are one wave, of whichever Graph of the run. */
  z.object({ type: z.literal('wave_started'), wave: number }),
  z.object({ type: z.literal('wave_finished'), wave: number, agents: count, tokens: count, duration_ms: duration }),
  z.object({
    type: z.literal('agent_started'),
    agent: number,
    label: z.string(),
    wave: number,
    model: z.string().nullable(),
    prompt: z.string(),
    /** JSON Schema of the answer that is asked for; left out for text. */
    schema: z.unknown().optional(),
    ...within,
  }),
  z.object({
    type: z.literal('agent_finished'),
    agent: number,
    ok: z.boolean(),
    tokens: count,
    cost,
    duration_ms: duration,
    /** The answer, as JSON text when there was a schema; null when it failed. */
    answer: z.string().nullable(),
    /** Why it failed; null when it did not. */
    error: z.string().nullable(),
    ...within,
  }),
  z.object({ type: z.literal('agent_refused'), label: z.string(), reason: z.string(), ...within }),
  /** An attempt of `retry` has failed; `wait_ms` until the next one. */
  z.object({
    type: z.literal('retry_waits'),
    attempt: number,
    attempts: number,
    wait_ms: duration,
    error: z.string(),
    ...within,
  }),
  z.object({ type: z.literal('tool_started'), call: number, tool: z.string(), input: z.unknown(), ...within }),
  z.object({
    type: z.literal('tool_finished'),
    call: number,
    tool: z.string(),
    ok: z.boolean(),
    duration_ms: duration,
    output: z.unknown(),
    error: z.string().nullable(),
    ...within,
  }),
  /**
   * It was not called: `meta` does not name it, the owner denies it, or there is no such tool. What the engine could not
   * know beforehand has had its `tool_started`, and this is its end.
   */
  z.object({ type: z.literal('tool_refused'), call: number, tool: z.string(), reason: z.string(), ...within }),
  z.object({
    type: z.literal('approval_asked'),
    approval: z.string(),
    call: number,
    tool: z.string(),
    input: z.unknown(),
    ...within,
  }),
  z.object({
    type: z.literal('approval_decided'),
    approval: z.string(),
    call: number,
    tool: z.string(),
    decision: z.enum(['allow', 'deny']),
    scope: approvalScopeSchema,
    ...within,
  }),
  z.object({
    type: z.literal('graph_started'),
    graph: number,
    slug: z.string(),
    version: number.nullable(),
    args: z.unknown(),
    ...within,
  }),
  z.object({
    type: z.literal('graph_finished'),
    graph: number,
    slug: z.string(),
    ok: z.boolean(),
    duration_ms: duration,
    error: z.string().nullable(),
    ...within,
  }),
  z.object({ type: z.literal('graph_refused'), slug: z.string(), reason: z.string(), ...within }),
  z.object({
    type: z.literal('finished'),
    status: z.enum(['completed', 'failed', 'cancelled']),
    tokens: count,
    cost,
    error: z.string().nullable(),
  }),
]);

export type GraphEvent = z.infer<typeof graphEventSchema>;
