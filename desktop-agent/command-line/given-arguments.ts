/**
 * The arguments of a run as they are typed: JSON, a file with JSON, or `key=value`.
 *
 * Owns how a value is read: as text where the Graph's schema wants text, otherwise as JSON where it is JSON.
 */

import { type ArgumentsSchema, argumentProblems } from '../../protocol/arguments-schema.ts';
import { ExitError } from '../../protocol/host/exit-codes.ts';
import { argumentsInShort } from './arguments-text.ts';

export type GivenArguments = Readonly<Record<string, unknown>>;

export interface Typed {
  /** JSON text of an object, and where it came from. */
  readonly json?: { readonly text: string; readonly from: string };
  /** `key=value`, which come on top of it. */
  readonly pairs: readonly string[];
}

export function givenArguments({ json, pairs }: Typed, schema: ArgumentsSchema | undefined): GivenArguments {
  const given: Record<string, unknown> = json === undefined ? {} : objectIn(json.text, json.from);
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at < 1) throw misuse(`"${pair}" is not key=value`);
    const key = pair.slice(0, at);
    // Not `given[key] =`: a key `__proto__` is a key.
    Object.defineProperty(given, key, {
      value: valueIn(pair.slice(at + 1), key, schema),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  const problems = schema === undefined ? [] : argumentProblems(schema, given);
  if (problems.length === 0) return given;
  const takes = argumentsInShort(schema);
  throw new ExitError(
    'usage',
    `${problems.map((each) => each.replace(/\.$/, '')).join('; ')}. Nothing was started.${takes && ` It takes ${takes}.`}`,
  );
}

function objectIn(text: string, from: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw misuse(`${from} is not JSON (${error instanceof Error ? error.message : error})`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw misuse(`${from} must be a JSON object`);
}

function valueIn(text: string, key: string, schema: ArgumentsSchema | undefined): unknown {
  const wanted = (schema?.properties as Readonly<Record<string, { type?: unknown } | undefined>> | undefined)?.[key]
    ?.type;
  if (wanted === 'string') return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function misuse(what: string): ExitError {
  const how = 'Give arguments as topic=tea depth=2, as --args \'{"topic":"tea"}\', or in a file with --args-file.';
  return new ExitError('usage', `${what}. ${how}`);
}
