/**
 * A JSON Schema without its regular expressions: for who must not wait for one that a stranger wrote.
 *
 * `^(a+)+$` takes seconds for thirty characters, and the relay has one thread for everybody. So it checks all but the
 * patterns; those are checked on the desktop, in a thread that can be ended.
 */
import { ignoredKeyword, schemaArrayKeyword, schemaMapKeyword } from '@cfworker/json-schema';
import { isContainer } from './json-text.ts';

type Node = Readonly<Record<string, unknown>>;
type Keywords = Readonly<Record<string, boolean | undefined>>;

/** It takes whatever the whole schema takes, and more. */
export function withoutPatterns(schema: Node): Node {
  // Which members the patterns would have covered is not known, so those that are left over cannot be refused.
  const gone = ['pattern', 'patternProperties'];
  if ('patternProperties' in schema) gone.push('additionalProperties', 'unevaluatedProperties');
  const kept = Object.entries(schema).filter(([key]) => !gone.includes(key));
  return Object.fromEntries(kept.map(([key, value]) => [key, below(key, value)]));
}

function below(key: string, value: unknown): unknown {
  if ((ignoredKeyword as Keywords)[key] || !isContainer(value)) return value;
  if (Array.isArray(value)) return (schemaArrayKeyword as Keywords)[key] ? value.map(orWithout) : value;
  if (!(schemaMapKeyword as Keywords)[key]) return withoutPatterns(value as Node);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, orWithout(each)]));
}

function orWithout(value: unknown): unknown {
  return isContainer(value) && !Array.isArray(value) ? withoutPatterns(value as Node) : value;
}
