/**
 * A Graph's own schema of its arguments: what a schema may be, and what is wrong with arguments that do not fit it.
 *
 * The relay checks when a run is queued, so that a model can correct its call; the desktop checks again before anything
 * starts, since the Graph may have changed. The check is `@cfworker/json-schema`: draft 2020-12 without making code from
 * a schema that came over the network.
 */
import { type OutputUnit, type Schema, Validator } from '@cfworker/json-schema';
import { z } from 'zod';
import { isContainer, isDeeperThan } from './json-text.ts';
import { ARGUMENTS_SCHEMA_CHARS, JSON_DEPTH } from './limits.ts';
import { weightProblem } from './schema-weight.ts';

/** In JSON text these two are always escaped; a backslash of the text itself comes in pairs. */
const UNCLEAN = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/i;

export type ArgumentsSchema = Readonly<Record<string, unknown>>;

const DRAFT = '2020-12';
/** Problems that are named at once. A model that is told twenty corrects none. */
const PROBLEMS_SHOWN = 3;
/** Keywords whose error only says that something below does not fit. */
const WRAPPERS: ReadonlySet<string> = new Set([
  'properties',
  'items',
  'prefixItems',
  '$ref',
  'allOf',
  'patternProperties',
]);

/** Why this cannot be the schema of a Graph's arguments; null when it can. */
export function schemaProblem(schema: unknown): string | null {
  const isObject = isContainer(schema) && (schema as ArgumentsSchema).type === 'object';
  if (isContainer(schema) && !Array.isArray(schema) && !isObject) {
    return 'must have `type: "object"`, since arguments are an object';
  }
  return jsonSchemaProblem(schema, ARGUMENTS_SCHEMA_CHARS);
}

/** Why this cannot be a schema at all, with at most so many characters of JSON; null when it can. */
export function jsonSchemaProblem(schema: unknown, maxChars: number): string | null {
  if (!isContainer(schema) || Array.isArray(schema)) return 'must be a JSON Schema: an object';
  if (isDeeperThan(schema, JSON_DEPTH)) return `is nested deeper than ${JSON_DEPTH} levels`;
  const json = JSON.stringify(schema);
  const { length } = json;
  if (UNCLEAN.test(json)) return 'holds a lone surrogate or a NUL character';
  if (length > maxChars) return `has ${length} characters of JSON, and may have ${maxChars}`;
  return (
    patternProblem(schema) ?? foreignProblem(json) ?? weightProblem(schema) ?? brokenProblem(schema as ArgumentsSchema)
  );
}

export const argumentsSchemaSchema = z
  .custom<ArgumentsSchema>((schema) => isContainer(schema) && !Array.isArray(schema), 'must be a JSON object')
  .superRefine((schema, context) => {
    const problem = schemaProblem(schema);
    if (problem !== null) context.addIssue({ code: 'custom', message: problem });
  })
  .meta({ type: 'object' });

/** What is wrong with these arguments, each with its path; empty when they fit. */
export function argumentProblems(schema: ArgumentsSchema, args: unknown): string[] {
  return valueProblems(schema, args, 'arguments');
}

/** What is wrong with this value, which is called `name` in the paths; empty when it fits. */
export function valueProblems(schema: ArgumentsSchema, value: unknown, name: string): string[] {
  let errors: OutputUnit[];
  try {
    errors = new Validator(schema as Schema, DRAFT, false).validate(value).errors;
  } catch (error) {
    // A keyword with a value that it cannot have is found when it is met.
    return [`${name}: cannot be checked, the schema is broken: ${messageOf(error)}`];
  }
  const leaves = errors.filter(({ keyword }) => !WRAPPERS.has(keyword));
  const told = (leaves.length > 0 ? leaves : errors).map((unit) => describe(unit, name));
  return [...new Set(told)].slice(0, PROBLEMS_SHOWN);
}

function describe({ instanceLocation, error }: OutputUnit, name: string): string {
  const path = instanceLocation
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== '')
    .map((part) => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'));
  return `${[name, ...path].join('.')}: ${error}`;
}

/** Patterns are compiled when they are met, and one that is none would then end the check of everything. */
function patternProblem(schema: object): string | null {
  for (const [key, value] of Object.entries(schema)) {
    const patterns =
      key === 'pattern' && typeof value === 'string'
        ? [value]
        : key === 'patternProperties'
          ? Object.keys(value ?? {})
          : [];
    const broken = patterns.find((pattern) => !isPattern(pattern));
    if (broken !== undefined) return `has a pattern that is no regular expression: ${JSON.stringify(broken)}`;
    const below = isContainer(value) ? patternProblem(value) : null;
    if (below !== null) return below;
  }
  return null;
}

function isPattern(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u');
    return true;
  } catch {
    return false;
  }
}

/** A reference to somewhere else is never fetched. */
function foreignProblem(json: string): string | null {
  const references = json.match(/"\$ref":"(?!#)[^"]*"/);
  return references && `refers to another document (${references[0]}); a schema stands for itself`;
}

/** A keyword with a value that it cannot have ends each check. */
function brokenProblem(schema: ArgumentsSchema): string | null {
  try {
    new Validator(schema as Schema, DRAFT, false).validate({});
    return null;
  } catch (error) {
    return `cannot be used: ${messageOf(error)}`;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
