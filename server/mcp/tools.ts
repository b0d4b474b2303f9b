/**
 * The four tools: names, texts, input schemas, scopes, and which call of the agent API each one is.
 *
 * `run_graph_session` is published word for word, and takes `start_within_seconds` besides. So are names, scopes and
 * input names of its siblings; their texts are ours, and each says which tool comes next. Must not know how calls arrive or how answers are packed.
 */
import { z } from 'zod';
import { commandIdSchema, graphSessionIdSchema, projectIdSchema } from '../../protocol/ids.ts';
import { isCleanText } from '../../protocol/json-text.ts';
import { IDEMPOTENCY_KEY_CHARS, LIST_LIMIT, START_WITHIN_SECONDS, WAIT_MAX_MS } from '../../protocol/limits.ts';
import type { Clock } from '../../protocol/ports.ts';
import type { AgentApi, AgentPrincipal, AgentScope, RunView } from '../agent-api.ts';
import { listText, runText, ticketText, unchangedText } from './answer-text.ts';
import { type LastTold, unchangedRun } from './last-told.ts';
import { runArgumentsSchema } from './run-arguments.ts';
import { checkInput, type JsonSchema, publishedSchema } from './tool-input.ts';
import {
  type OutputSchema,
  publishedOutput,
  readRunSchema,
  runSchema,
  sessionListSchema,
  ticketSchema,
} from './tool-output.ts';
import { type Progress, startProgress } from './wait-progress.ts';

export interface ToolCaller {
  readonly agent: AgentPrincipal;
  /** Aborted when the caller has gone away. */
  readonly signal: AbortSignal;
  readonly told: LastTold;
  readonly clock: Clock;
  /** Takes news of a wait; null when the caller has not asked for any. */
  readonly onProgress: ((progress: Progress) => void) | null;
}

/** What a tool says: data for programs, and the same in a few words for models. */
export interface Answer {
  readonly data: object;
  readonly text: string;
  /** What the Graph returned, if this answer carries it. */
  readonly result?: { readonly value: unknown };
}

interface SecurityScheme {
  readonly type: 'oauth2';
  readonly scopes: readonly AgentScope[];
}

/** A tool as `tools/list` shows it. */
export interface ListedTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: OutputSchema;
  readonly annotations: Readonly<Record<string, boolean>>;
  readonly securitySchemes: readonly SecurityScheme[];
  /** The same again, where clients that drop unknown fields of a tool still find it. */
  readonly _meta: { readonly securitySchemes: readonly SecurityScheme[] };
}

export interface Tool {
  readonly scope: AgentScope;
  readonly listed: ListedTool;
  /** Whether a call with this (unchecked) input may be kept open for a while. */
  mayHold(input: unknown): boolean;
  /** Checks the input and calls. Rejects with an `AgentError` when the input is refused. */
  call(api: AgentApi, caller: ToolCaller, input: unknown): Promise<Answer>;
}

interface ToolDefinition<S extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly scope: AgentScope;
  readonly annotations: Readonly<Record<string, boolean>>;
  readonly input: S;
  readonly output: z.ZodObject;
  readonly mayHold?: (input: unknown) => boolean;
  readonly call: (api: AgentApi, caller: ToolCaller, input: z.output<S>) => Promise<Answer>;
}

function defineTool<S extends z.ZodObject>(definition: ToolDefinition<S>): Tool {
  const { name, title, description, scope, annotations, input: schema } = definition;
  const securitySchemes: readonly SecurityScheme[] = [{ type: 'oauth2', scopes: [scope] }];
  return {
    scope,
    listed: {
      name,
      title,
      description,
      inputSchema: publishedSchema(schema),
      outputSchema: publishedOutput(definition.output),
      annotations,
      securitySchemes,
      _meta: { securitySchemes },
    },
    mayHold: definition.mayHold ?? (() => false),
    call: async (api, caller, input) => definition.call(api, caller, checkInput(name, schema, input)),
  };
}

const listGraphSessions = defineTool({
  name: 'list_graph_sessions',
  title: 'List Graph sessions',
  description:
    'List the Graph sessions that the owner shares with a connected project, and whether their desktop is online. Start one with run_graph_session.',
  scope: 'osfoundry:read',
  annotations: { readOnlyHint: true },
  input: z.strictObject({
    project_id: projectIdSchema
      .optional()
      .describe('The connected project. May be left out by an agent that is connected to exactly one.'),
    limit: z.int().min(LIST_LIMIT.min).max(LIST_LIMIT.max).default(LIST_LIMIT.default),
  }),
  output: sessionListSchema,
  async call(api, { agent }, { project_id, limit }) {
    const data = await api.listSessions(agent, { project_id, limit });
    return { data, text: listText(data) };
  },
});

const { min: KEY_MIN, max: KEY_MAX } = IDEMPOTENCY_KEY_CHARS;

/** Any text. zod's own bounds would count code points; ours are UTF-16 units, as everywhere. */
const idempotencyKeySchema = z
  .string()
  .refine((key) => key.length >= KEY_MIN, `must have at least ${KEY_MIN} characters`)
  .refine((key) => key.length <= KEY_MAX, `must have at most ${KEY_MAX} characters`)
  .refine(isCleanText, 'holds a lone surrogate or a NUL character')
  .meta({ minLength: KEY_MIN, maxLength: KEY_MAX });

const runGraphSession = defineTool({
  name: 'run_graph_session',
  title: 'Run a Graph session',
  description:
    "Queue a Graph run on the owner's online desktop in a connected project. Retrieve progress and result with get_graph_run. The desktop can go offline, and local tool approvals still apply.",
  scope: 'osfoundry:run',
  annotations: { readOnlyHint: false, destructiveHint: true },
  input: z.strictObject({
    graph_session_id: graphSessionIdSchema,
    arguments: runArgumentsSchema.optional(),
    idempotency_key: idempotencyKeySchema,
    start_within_seconds: z
      .int()
      .min(START_WITHIN_SECONDS.min)
      .max(START_WITHIN_SECONDS.max)
      .optional()
      .describe(
        'The run expires when it has not started within this time, so that it does not fire when nobody expects it.',
      ),
  }),
  output: ticketSchema,
  async call(api, { agent, told, clock }, input) {
    const data = await api.runSession(agent, { ...input, arguments: input.arguments ?? {} });
    told.tell(data);
    return { ...runAnswer(data, clock.now()), data, text: ticketText(data, clock.now()) };
  },
});

const WAIT_MAX_SECONDS = WAIT_MAX_MS / 1_000;

const getGraphRun = defineTool({
  name: 'get_graph_run',
  title: 'Get a Graph run',
  description:
    'Read status, timing and result of a Graph run started by this Connected agent. While it is queued or running, call again with wait_seconds, or end it with cancel_graph_run.',
  scope: 'osfoundry:read',
  annotations: { readOnlyHint: true },
  input: z.strictObject({
    command_id: commandIdSchema.describe('The command_id that run_graph_session returned.'),
    // Published with its bound; a larger number is cut and not refused, since what to do with it is clear.
    wait_seconds: z
      .number()
      .min(0)
      .optional()
      .meta({
        maximum: WAIT_MAX_SECONDS,
        description: `Seconds to wait for a change of the status (or of awaiting_approval) before answering; the answer comes at the first change. 0 (as when left out) answers at once. More than ${WAIT_MAX_SECONDS} is cut to ${WAIT_MAX_SECONDS}, and the answer then says so in wait_seconds_granted.`,
      }),
  }),
  mayHold: (input) => Number((input as { wait_seconds?: unknown } | undefined)?.wait_seconds) > 0,
  output: readRunSchema,
  async call(api, caller, { command_id, wait_seconds = 0 }) {
    const { told, clock } = caller;
    const granted = Math.min(wait_seconds, WAIT_MAX_SECONDS);
    const run = await waitedFor(api, caller, { command_id, seconds: granted });
    const cut = granted === wait_seconds ? {} : { wait_seconds_granted: granted };
    if (told.tell(run)) {
      const answer = runAnswer(run, clock.now());
      return { ...answer, data: { ...cut, ...answer.data } };
    }
    const unchanged = unchangedRun(run, clock.now());
    const { wait_seconds_granted } = run;
    const sooner = wait_seconds_granted === undefined ? cut : { wait_seconds_granted };
    return { data: { ...unchanged, ...sooner }, text: unchangedText(unchanged, run.awaiting_approval !== undefined) };
  },
});

/** The run after the wait, and news of the wait for who asked for them. */
async function waitedFor(
  api: AgentApi,
  { agent, signal, clock, told, onProgress }: ToolCaller,
  { command_id, seconds }: { command_id: string; seconds: number },
): Promise<RunView> {
  // First: what changes while the first news are made up must end this wait.
  const known = told.question(command_id);
  const waiting = api.getRun(agent, { command_id, waitMs: Math.round(seconds * 1_000), signal, known });
  if (onProgress === null || seconds === 0) return waiting;
  const look = () => api.getRun(agent, { command_id, waitMs: 0, signal });
  const news = startProgress({ clock, total: seconds, signal, look, tell: onProgress });
  return waiting.finally(() => news.stop());
}

export function runAnswer(run: RunView, now: number): Answer {
  const said = { data: run, text: runText(run, now) };
  return 'result' in run ? { ...said, result: { value: run.result } } : said;
}

const cancelGraphRun = defineTool({
  name: 'cancel_graph_run',
  title: 'Cancel a Graph run',
  description:
    'Cancel a Graph run started by this Connected agent. A queued run never starts; a running one is told to stop. See how it ended with get_graph_run.',
  scope: 'osfoundry:run',
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  input: z.strictObject({
    command_id: commandIdSchema.describe('The command_id that run_graph_session returned.'),
  }),
  output: runSchema,
  async call(api, { agent, told, clock }, { command_id }) {
    const run = await api.cancelRun(agent, { command_id });
    told.tell(run);
    return runAnswer(run, clock.now());
  },
});

/** By name, in the order in which they are listed. */
export const TOOLS: ReadonlyMap<string, Tool> = new Map(
  [listGraphSessions, runGraphSession, getGraphRun, cancelGraphRun].map((tool) => [tool.listed.name, tool]),
);
