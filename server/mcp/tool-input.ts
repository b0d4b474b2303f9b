/**
 * The border between what a model sends and what a tool takes: checking inputs, wording refusals, publishing schemas.
 *
 * One zod schema per tool is the source of both the check and the published JSON schema.
 */
import { z } from 'zod';
import { cleanText } from '../../protocol/text.ts';
import { AgentError } from '../agent-api.ts';

/** Problems that are named in one refusal. A model that is told twenty at once corrects none. */
const PROBLEMS_SHOWN = 3;
/** Length of a foreign input's name in a refusal. */
const NAME_CHARS = 40;
/** Length of the way to what is wrong. */
const PATH_CHARS = 100;

export interface JsonSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[];
  readonly additionalProperties: false;
}

/**
 * The schema as clients see it: types, lengths and descriptions. The exact form of ids stays out, as in the published
 * tools: clients that check patterns themselves would refuse an id in a text that is not ours.
 */
export function publishedSchema(schema: z.ZodObject): JsonSchema {
  const { $schema: _, ...published } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      delete jsonSchema.pattern;
      if (zodSchema._zod.def.type !== 'record') return;
      delete jsonSchema.propertyNames;
      delete jsonSchema.additionalProperties;
    },
  });
  return published as JsonSchema;
}

/** The checked input, or an {@link AgentError} that says what is wrong where, and what the tool takes. */
export function checkInput<S extends z.ZodObject>(tool: string, schema: S, input: unknown): z.output<S> {
  const checked = schema.safeParse(input);
  if (checked.success) return checked.data;
  const { issues } = checked.error;
  const problems = issues.slice(0, PROBLEMS_SHOWN).map((issue) => describeIssue(issue, input));
  const more = issues.length > PROBLEMS_SHOWN ? ` (and ${issues.length - PROBLEMS_SHOWN} more problems)` : '';
  throw new AgentError(
    `${problems.join('; ')}${more}. Nothing was done. ${tool} takes ${describeInputs(schema)}. Correct the call and send it again.`,
  );
}

function describeInputs(schema: z.ZodObject): string {
  const { properties, required = [] } = publishedSchema(schema);
  return Object.keys(properties)
    .map((name) => (required.includes(name) ? `${name} (required)` : name))
    .join(', ');
}

function describeIssue(issue: z.core.$ZodIssue, input: unknown): string {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys
      .slice(0, PROBLEMS_SHOWN)
      .map((key) => `${cleanText(key, NAME_CHARS)} is not an input of this tool`)
      .join('; ');
  }
  const path = cleanText(issue.path.map(String).join('.'), PATH_CHARS) || 'the input';
  return `${path} ${describeProblem(issue, valueAt(input, issue.path))}`;
}

function describeProblem(issue: z.core.$ZodIssue, value: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      return value === undefined ? 'is required' : `must be ${EXPECTED[issue.expected] ?? `a ${issue.expected}`}`;
    case 'too_small':
      return issue.origin === 'string'
        ? `must have at least ${issue.minimum} characters`
        : `must be at least ${issue.minimum}`;
    case 'too_big':
      return issue.origin === 'string'
        ? `must have at most ${issue.maximum} characters`
        : `must be at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

/** zod's type names, for people. */
const EXPECTED: Readonly<Record<string, string>> = {
  int: 'a whole number',
  object: 'a JSON object',
  record: 'a JSON object',
};

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce((value, key) => (value as Record<PropertyKey, unknown> | null | undefined)?.[key], input);
}
