/**
 * A value that fits a JSON Schema, for answers of a script: so that a Graph with structured answers can be tried without a
 * model.
 *
 * Owns an attempt, no guarantee: whether it fits is checked like any answer. No chance: the same schema gets the same value.
 */

type Schema = Readonly<Record<string, unknown>>;

/** Schemas that refer to themselves have to end somewhere. */
const DEPTH_MAX = 8;
const LIST_MAX = 100;
const STRING_MAX = 1_000;
/** Those that refer to themselves more than once would end much too late. */
const VALUES_MAX = 2_000;

export function exampleOf(schema: Schema, text: string): unknown {
  return example(schema, { root: schema, text, depth: 0, made: { values: 0 } });
}

interface Place {
  readonly root: Schema;
  /** For strings. */
  readonly text: string;
  readonly depth: number;
  readonly made: { values: number };
}

function example(schema: unknown, place: Place): unknown {
  place.made.values += 1;
  if (!isSchema(schema) || place.depth > DEPTH_MAX || place.made.values > VALUES_MAX) return null;
  const below = { ...place, depth: place.depth + 1 };
  if ('const' in schema) return schema.const;
  for (const listed of [schema.enum, schema.examples]) if (Array.isArray(listed) && listed.length > 0) return listed[0];
  if (typeof schema.$ref === 'string') return example(referred(schema.$ref, place.root), below);
  for (const choice of [schema.anyOf, schema.oneOf, schema.allOf]) {
    if (Array.isArray(choice) && choice.length > 0) return example(choice[0], below);
  }
  return exampleOfType(schema, below);
}

function exampleOfType(schema: Schema, place: Place): unknown {
  switch (Array.isArray(schema.type) ? schema.type[0] : (schema.type ?? 'object')) {
    case 'object': {
      const properties = isSchema(schema.properties) ? schema.properties : {};
      return Object.fromEntries(Object.entries(properties).map(([name, below]) => [name, example(below, place)]));
    }
    case 'array': {
      const wanted = Math.max(count(schema.minItems, 0), schema.items === undefined ? 0 : 1);
      const length = Math.min(wanted, count(schema.maxItems, LIST_MAX), LIST_MAX);
      return Array.from({ length }, () => example(schema.items ?? {}, place));
    }
    case 'number':
    case 'integer':
      return Math.min(
        count(schema.minimum, count(schema.exclusiveMinimum, -1) + 1),
        count(schema.maximum, Number.MAX_SAFE_INTEGER),
      );
    case 'string':
      return place.text
        .padEnd(Math.min(count(schema.minLength, 0), STRING_MAX), '.')
        .slice(0, count(schema.maxLength, STRING_MAX));
    case 'boolean':
      return true;
    default:
      return null;
  }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function count(value: unknown, usual: number): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : usual;
}

/** `#/$defs/name`; anything else is not looked for. */
function referred(reference: string, root: Schema): unknown {
  return reference
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== '')
    .reduce<unknown>((found, part) => (isSchema(found) ? found[part] : undefined), root);
}
