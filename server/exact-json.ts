/**
 * JSON whose numbers are kept as they were written, or pointed out: never changed in silence.
 *
 * A JSON number has any size; JavaScript's has 53 bits. 2512292042121000001 is read as 2512292042121000000, and whoever
 * looks for the first finds nothing. Owns the finding of such numbers. What becomes of them is up to the schema of
 * the tool that gets them.
 */
import { isContainer } from '../protocol/json-text.ts';
import { cleanText } from '../protocol/text.ts';

/** Stands in a tool's input where a number was written that JavaScript cannot hold. No schema takes it for a number. */
export class InexactNumber {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** Digits of such a number that are repeated in a refusal. */
const SHOWN_DIGITS = 30;

/** Where such a number is. */
export interface InexactPlace {
  readonly holder: Record<string, unknown>;
  readonly key: string;
  readonly source: string;
}

/** Cheap, and right for nearly all bodies: without such a number there is nothing to look for. */
const SUSPICIOUS = /\d{16}|\d[eE][+-]?\d/;

type SourceReviver = (
  this: Record<string, unknown>,
  key: string,
  value: unknown,
  context: { source?: string },
) => unknown;

export interface ParsedJson {
  readonly json: unknown;
  readonly inexact: readonly InexactPlace[];
}

export function parseExactly(text: string): ParsedJson {
  if (!SUSPICIOUS.test(text)) return { json: JSON.parse(text), inexact: [] };
  const inexact: InexactPlace[] = [];
  const note: SourceReviver = function (key, value, { source }) {
    if (typeof value === 'number' && source !== undefined && isChanged(source, value)) {
      inexact.push({ holder: this, key, source });
    }
    return value;
  };
  return { json: JSON.parse(text, note as (key: string, value: unknown) => unknown), inexact };
}

/** What is wrong with such a number, and the way out; for a refusal, after its name. */
export function inexactProblem(source: string): string {
  return `is ${cleanText(source, SHOWN_DIGITS)}, a number that would be changed on its way; send it as a string`;
}

export function describeInexact({ key, source }: InexactPlace): string {
  return `The request was refused: ${cleanText(key, SHOWN_DIGITS)} ${inexactProblem(source)}.`;
}

/** Puts an {@link InexactNumber} at each of these places that is inside `input`. */
export function markInexact(input: unknown, places: readonly InexactPlace[]): void {
  if (places.length === 0) return;
  const inside = new Set<object>();
  for (let level = [input].filter(isContainer); level.length > 0; ) {
    for (const container of level) inside.add(container);
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
  for (const { holder, key, source } of places) if (inside.has(holder)) holder[key] = new InexactNumber(source);
}

/** Fractions keep the digits that a double has, which is what they are written for. Whole numbers have to be exact. */
function isChanged(source: string, value: number): boolean {
  if (!Number.isFinite(value)) return true;
  return Number.isInteger(value) && decimalOf(source) !== decimalOf(String(value));
}

/** One spelling for all spellings of a decimal number: its digits without zeros at the ends, and an exponent. */
function decimalOf(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = whole + fraction;
  let start = 0;
  let end = digits.length;
  while (start < end && digits[start] === '0') start++;
  while (end > start && digits[end - 1] === '0') end--;
  if (start === end) return '0';
  return `${sign}${digits.slice(start, end)}e${Number(exponent) - fraction.length + (digits.length - end)}`;
}
