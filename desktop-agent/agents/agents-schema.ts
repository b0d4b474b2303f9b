/**
 * What may stand in `agents.json`: the agents that the owner has set up, by name.
 *
 * Owns the shape and what is refused. A key never stands in this file: what looks like one, by its name or by its value, is
 * refused, and no message repeats it.
 */
import { z } from 'zod';
import { MODEL_PLACE } from '../engine/providers/command.ts';
import { COMMAND_OUTPUTS } from '../engine/providers/command-output.ts';

/** Larger: a hanging service holds an agent for longer than a run may take. Smaller: nothing answers in time. */
const TIMEOUT_MS = { min: 1_000, max: 3_600_000, usual: 10 * 60_000 };

const command = z
  .array(z.string())
  .min(1)
  .refine(([program]) => program !== '', 'must begin with a program');
const model = z.string().min(1).max(200);
const common = { timeout_ms: z.int().min(TIMEOUT_MS.min).max(TIMEOUT_MS.max).default(TIMEOUT_MS.usual) };
const price = z.number().min(0);
const prices = z.strictObject({ input: price, output: price, cached_input: price.optional() }).optional();

/** Capitals only: a key that was put here by mistake is no such name, and is not repeated as one. */
const variable = z
  .string()
  .regex(/^[A-Z_][A-Z\d_]*$/, 'must be the name of a variable, in capitals; the key itself goes into that variable');

const url = z
  .string()
  .refine(isServiceUrl, 'must be an address such as http://127.0.0.1:11434/v1, without user, password or parameters');

const service = {
  ...common,
  model,
  prices,
  max_output_tokens: z.int().min(1).optional(),
  api_key_env: variable.optional(),
  key_command: command.optional(),
};

const entryTypes = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('openai-compatible'), url, ...service }),
  z.strictObject({ type: z.literal('anthropic'), url: url.optional(), ...service }),
  z.strictObject({ type: z.literal('openai'), url: url.optional(), ...service }),
  z.strictObject({
    type: z.literal('command'),
    command,
    model: model.optional(),
    output: z.enum(COMMAND_OUTPUTS).default('text'),
    prices,
    ...common,
  }),
  z.strictObject({ type: z.literal('scripted') }),
]);
const TYPES = entryTypes.options.map(({ shape }) => shape.type.value);

/** A `type` that is none gets the list of those that there are. */
const entrySchema = z
  .looseObject({ type: z.enum(TYPES) })
  .pipe(entryTypes)
  .superRefine(checkEntry);

export type AgentEntry = z.infer<typeof entryTypes>;
export type ServiceEntry = Extract<AgentEntry, { model: string; max_output_tokens?: unknown }>;
export type CommandEntry = Extract<AgentEntry, { type: 'command' }>;

/** No colon: `entry:model`. */
const NAME = /^[A-Za-z][\w.-]{0,63}$/;

export const agentsSchema = z
  .strictObject({
    default: z.string().optional(),
    agents: z.record(z.string(), entrySchema),
  })
  .superRefine(({ default: named, agents }, context) => {
    const names = Object.keys(agents);
    const problem = defaultProblem(named, names);
    if (problem !== null) context.addIssue({ code: 'custom', path: ['default'], message: problem });
    for (const name of names.filter((each) => !NAME.test(each))) {
      const message = 'is no name for an agent: a letter, then letters, digits, ".", "_" and "-"';
      context.addIssue({ code: 'custom', path: ['agents', name], message });
    }
  })
  .transform(({ default: named, agents }) => ({
    default: named ?? (Object.keys(agents)[0] as string),
    agents: new Map(Object.entries(agents)),
  }));

/** A file that was read: which agents there are, and which answers when a Graph names none. */
export type Agents = z.infer<typeof agentsSchema>;

function defaultProblem(named: string | undefined, names: readonly string[]): string | null {
  if (names.length === 0) return 'has nothing to name: there is no agent';
  if (named === undefined) return names.length === 1 ? null : `must name one of ${names.join(', ')}`;
  return names.includes(named) ? null : `names no agent of this file (${names.join(', ')})`;
}

function checkEntry(entry: AgentEntry, context: z.RefinementCtx): void {
  const refuse = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message });
  if (entry.type === 'command') {
    const hasPlace = entry.command.some((part) => part.includes(MODEL_PLACE));
    if (hasPlace && entry.model === undefined) refuse('model', `is needed for ${MODEL_PLACE} in the command`);
    if (!hasPlace && entry.model !== undefined)
      refuse('model', `has no place in the command: write ${MODEL_PLACE} there`);
    if (entry.prices && entry.output === 'text')
      refuse('prices', 'need tokens to count: this output does not name them');
  } else if (entry.type !== 'scripted' && entry.api_key_env !== undefined && entry.key_command !== undefined) {
    refuse('key_command', 'and api_key_env are both given: keep one');
  }
}

function isServiceUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return ['http:', 'https:'].includes(protocol) && `${username}${password}${search}${hash}` === '';
}

const KEY_NAME = /(?:^|[_-])(?:api_?key|key|token|secret|password|passphrase|authorization|bearer|credentials?)$/i;
const KEY_VALUE = /\b(?:sk|pk|rk|xai|gsk|ghp|gho|glpat|hf)[-_][\w-]{16,}|\bAIza[\w-]{30,}|\bbearer\s+\S{8,}/i;

/** Where a key stands in this value, as a path; null when there is none. For what a person wrote: it may have any shape. */
export function keyPlace(value: unknown, path: readonly string[] = []): string | null {
  if (typeof value === 'string') return KEY_VALUE.test(value) ? path.join('.') : null;
  if (typeof value !== 'object' || value === null) return null;
  for (const [name, below] of Object.entries(value)) {
    if (KEY_VALUE.test(name)) return [...path, '…'].join('.');
    const isField = !Array.isArray(value) && typeof below === 'string';
    if (isField && KEY_NAME.test(camelToSnake(name))) return [...path, name].join('.');
    const found = keyPlace(below, [...path, name]);
    if (found !== null) return found;
  }
  return null;
}

function camelToSnake(name: string): string {
  return name.replace(/([a-z\d])([A-Z])/g, '$1_$2');
}
