/**
 * The shapes of the tools' answers, as `tools/list` publishes them.
 *
 * Owns what clients may rely on: members that are required here are always there. Answers are typed in `agent-api.ts`;
 * a test holds both together. More members may come, so none is refused.
 */
import { z } from 'zod';

const instantSchema = z.string().describe('ISO 8601');
const secondsSchema = z.int().min(0);

const presenceSchema = z
  .looseObject({
    online: z.boolean(),
    since: instantSchema.nullable(),
    transport: z.string().nullable(),
    asleep: z.boolean().nullable(),
    asleep_since: instantSchema.optional(),
    last_seen_at: instantSchema.nullable(),
  })
  .describe('What is known of the desktop.');

const statusSchema = z.enum(['queued', 'running', 'completed', 'failed', 'cancelled', 'expired', 'lost']);

const askedSchema = z
  .looseObject({ tool: z.string(), since: instantSchema })
  .describe('The run stands still until its owner allows or denies a call of this tool on the desktop.');

const timingSchema = z.looseObject({
  queued_at: instantSchema,
  offered_at: instantSchema.nullable(),
  started_at: instantSchema.nullable(),
  finished_at: instantSchema.nullable(),
  pickup_ms: z.number().nullable().describe('queued to started'),
  run_ms: z.number().nullable().describe('started to finished'),
  transport: z.string().nullable(),
});

const checkAfterSchema = secondsSchema
  .nullable()
  .describe('When a look is likely to find it ended; null when it has. wait_seconds needs fewer calls.');

/** A run whose state its agent was told before. */
const unchangedShape = {
  status: statusSchema,
  unchanged: z.boolean().optional().describe('The rest is as it was told last, and left out.'),
  for_seconds: secondsSchema.optional().describe('With unchanged: since it was queued, or started.'),
  check_after_seconds: checkAfterSchema,
  wait_seconds_granted: z.number().optional(),
};

/** All kinds of JSON are named, since some clients take a schema that says nothing for a mistake. */
const anyJsonSchema = z.unknown().meta({
  anyOf: ['object', 'array', 'string', 'number', 'boolean', 'null'].map((type) => ({ type })),
  description: 'What the Graph returned.',
});

const runShape = {
  ...unchangedShape,
  awaiting_approval: askedSchema.optional(),
  command_id: z.string(),
  project_id: z.string(),
  graph_session_id: z.string(),
  execution_id: z.string().nullable(),
  cancel_requested: z.boolean(),
  ahead: z.int().nullable().describe('Runs that its desktop takes before this one; null once it has started.'),
  start_by: instantSchema,
  desktop: presenceSchema,
  timing: timingSchema,
  result: anyJsonSchema.optional(),
  result_truncated: z.boolean().optional(),
  result_chars: z.int().nullable().optional(),
  result_limit_chars: z.int().optional(),
  error: z.string().nullable(),
  total_tokens: z.int().nullable(),
  reported_cost: z.number().nullable().describe('US dollars'),
};

export const runSchema = z.looseObject(runShape);

export const ticketSchema = z.looseObject({
  ...runShape,
  replayed: z.boolean().describe('The key was used before: this is the same run.'),
  identical_waiting_run: z.string().optional(),
});

const { status, check_after_seconds, ...rest } = runShape;

/** Only what an unchanged answer has, too, is always there. */
export const readRunSchema = z.looseObject({ status, check_after_seconds, ...z.object(rest).partial().shape });

export const sessionListSchema = z.looseObject({
  project_id: z.string(),
  sessions: z.array(
    z.looseObject({
      graph_session_id: z.string(),
      name: z.string(),
      description: z.string(),
      slug: z.string(),
      version: z.int(),
      status: z.string(),
      desktop: presenceSchema,
      arguments_schema: z.looseObject({}).optional().describe('JSON Schema of the arguments that it takes.'),
      typical_run: z.looseObject({ median_ms: z.number(), runs: z.int() }).nullable(),
    }),
  ),
  active_runs: z
    .array(
      z.looseObject({
        command_id: z.string(),
        graph_session_id: z.string(),
        status: statusSchema,
        awaiting_approval: askedSchema.optional(),
        age_seconds: secondsSchema,
      }),
    )
    .optional(),
});

export interface OutputSchema {
  readonly type: 'object';
}

/**
 * The shape for clients, in the words of JSON Schema that all of them know: one type at a time, and no member that says
 * nothing. Some refuse a tool, or all tools, for less. Bounds of whole numbers stay out: they are JavaScript's, and cost a
 * model's context.
 */
export function publishedOutput(schema: z.ZodObject): OutputSchema {
  const { $schema: _, ...published } = z.toJSONSchema(schema, {
    io: 'output',
    override({ jsonSchema }) {
      delete jsonSchema.minimum;
      delete jsonSchema.maximum;
      // More members may come. That is what a schema says that says nothing about them.
      delete jsonSchema.additionalProperties;
    },
  });
  return oneTypeEach(published) as OutputSchema;
}

/** zod writes what may be null with two types in one place. */
function oneTypeEach(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(oneTypeEach);
  if (typeof schema !== 'object' || schema === null) return schema;
  const members = Object.entries(schema).map(([name, value]) =>
    name === 'type' && Array.isArray(value) ? ['anyOf', value.map((type) => ({ type }))] : [name, oneTypeEach(value)],
  );
  return Object.fromEntries(members);
}
