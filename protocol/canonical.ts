/**
 * Equality of JSON values by meaning: the order of keys does not matter, and neither does how a number was written.
 */

/** One text for all spellings of the same JSON value. The value must come from JSON (no cycles, no functions). */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, member]) => member !== undefined);
    entries.sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(',')}}`;
  }
  if (Object.is(value, -0)) return '0';
  return JSON.stringify(value) ?? 'null';
}
