/**
 * Events with texts that are short enough to be kept or shown.
 *
 * Owns the cut: what is longer is replaced by its beginning with a mark, and the length and hash of the whole are kept
 * beside it, so that nobody takes the beginning for the whole, and a replay still knows which text it was.
 */
import { createHash } from 'node:crypto';
import { canonicalJson } from '../../protocol/canonical.ts';
import type { GraphEvent } from '../run-events.ts';

/** What a text was that is not there whole. For a value that is no text, the length is that of its JSON. */
export interface Cut {
  readonly chars: number;
  readonly sha256: string;
}

/** By the name of the event's member. */
export type Cuts = Readonly<Record<string, Cut>>;

export interface BoundedEvent {
  readonly event: GraphEvent;
  /** Left out when the event is whole. */
  readonly cut?: Cuts;
}

/** Values with the same meaning have the same hash. */
export function hashOf(value: unknown): string {
  const text = typeof value === 'string' ? value.toWellFormed() : canonicalJson(value);
  return createHash('sha256').update(text).digest('hex');
}

/** The same event, or one in which each text, and each value as JSON, has at most `maxChars` characters. */
export function boundedEvent(event: GraphEvent, maxChars: number): BoundedEvent {
  const cut: Record<string, Cut> = {};
  const short: Record<string, string> = {};
  for (const [name, value] of Object.entries(event)) {
    const text = textOf(value);
    if (text === null || text.length <= maxChars) continue;
    cut[name] = { chars: text.length, sha256: hashOf(value) };
    short[name] = cutText(text, maxChars);
  }
  if (Object.keys(cut).length === 0) return { event };
  // Each member that was cut is a text, or one that may be anything.
  return { event: { ...event, ...short } as GraphEvent, cut };
}

function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return null;
  return JSON.stringify(value);
}

/** At most `maxChars` with the mark, never inside a surrogate pair. */
export function cutText(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const mark = `… [cut: ${text.length} characters in all]`;
  let end = Math.max(0, maxChars - mark.length);
  if (/[\ud800-\udbff]/.test(text.charAt(end - 1))) end -= 1;
  return `${text.slice(0, end)}${mark}`.slice(0, maxChars);
}
