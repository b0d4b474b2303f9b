/**
 * Text that is safe to store, to send and to show: how any value becomes one.
 *
 * Owns the cleaning of messages (errors, labels, log lines). It never throws, whatever it is given, since it runs
 * where a failure is recorded: recording a failure must not fail. It must not be used for results, which are kept as
 * they are or not at all.
 */

/** An error's causes that are named. A chain of thousands tells no more than its first few, and takes long to walk. */
const CAUSES_SHOWN = 4;

const UNREADABLE = 'an error that cannot be shown';

/**
 * `value` as clean text of at most `maxChars` UTF-16 code units: well-formed, without NUL, and cut with an ellipsis
 * that never separates a surrogate pair. Errors become `Name: message`, with their first causes.
 */
export function cleanText(value: unknown, maxChars: number): string {
  return cut(withoutNul(describe(value)), maxChars);
}

/** A NUL is legal in JavaScript and in JSON, and refused by many a database, terminal and log. */
function withoutNul(text: string): string {
  return text.toWellFormed().replaceAll('\0', '');
}

function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  if (maxChars < 1) return '';
  const end = maxChars - 1;
  // The text is well-formed: a high half at the end has its low half right behind the cut.
  const splitsPair = isHighSurrogate(text.charCodeAt(end - 1));
  return `${text.slice(0, splitsPair ? end - 1 : end)}…`;
}

function isHighSurrogate(codeUnit: number): boolean {
  return codeUnit >= 0xd800 && codeUnit <= 0xdbff;
}

function describe(value: unknown): string {
  try {
    if (typeof value === 'string') return value;
    if (typeof value !== 'object' || value === null) return String(value);
    return describeObject(value);
  } catch {
    // A getter, a proxy or toString() threw.
    return UNREADABLE;
  }
}

function describeObject(value: object): string {
  const parts: string[] = [];
  let current: unknown = value;
  for (let shown = 0; shown <= CAUSES_SHOWN && current !== undefined && current !== null; shown += 1) {
    parts.push(headline(current));
    current = typeof current === 'object' && 'cause' in current ? current.cause : undefined;
  }
  return parts.join(', caused by: ');
}

function headline(value: unknown): string {
  if (typeof value !== 'object' || value === null || !('message' in value)) return String(value);
  const message = String(value.message);
  // A plain `Error:` in front says nothing; `TypeError:` does.
  const name = 'name' in value && value.name !== 'Error' ? String(value.name) : '';
  if (name === '') return message === '' ? 'Error' : message;
  return message === '' ? name : `${name}: ${message}`;
}
