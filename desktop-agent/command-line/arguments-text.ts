/** The arguments of a Graph in one short line, for a person who wants to call it. */
import type { ArgumentsSchema } from '../../protocol/arguments-schema.ts';
import { cleanText } from '../../protocol/text.ts';

const CHARS = 60;

/** For example `topic: string, depth?: number`; empty when the Graph does not say. A `?` marks what may be left out. */
export function argumentsInShort(schema: ArgumentsSchema | undefined): string {
  const properties = (schema?.properties ?? {}) as Readonly<Record<string, unknown>>;
  const required = new Set(Array.isArray(schema?.required) ? schema.required : []);
  const each = Object.entries(properties).map(
    ([name, value]) => `${name}${required.has(name) ? '' : '?'}${typeText(value)}`,
  );
  return cleanText(each.join(', '), CHARS);
}

function typeText(schema: unknown): string {
  const text = typeOf(schema);
  return text === '' ? '' : `: ${text}`;
}

function typeOf(schema: unknown): string {
  if (typeof schema !== 'object' || schema === null) return '';
  const { type, items, enum: choices } = schema as { type?: unknown; items?: unknown; enum?: unknown };
  if (Array.isArray(choices)) return choices.map((choice) => JSON.stringify(choice)).join('|');
  if (type === 'array') return `${typeOf(items) || 'any'}[]`;
  return Array.isArray(type) ? type.join('|') : typeof type === 'string' ? type : '';
}
