/**
 * Lines that fit a terminal: pieces of text, each with its colour, cut to so many columns.
 *
 * Owns the widths: what a terminal shows of a text, where letters of some scripts take two columns.
 */
import stringWidth from 'string-width';
import { type Paint, plain } from '../../protocol/host/terminal.ts';
import type { PaintText } from '../command-line/event-lines.ts';

export type Span = readonly [text: string, paint?: Paint];
export type Line = readonly Span[];

const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

export function widthOf(line: Line): number {
  return line.reduce((sum, [text]) => sum + stringWidth(text), 0);
}

/** The text in at most so many columns; what is cut ends in `…`. What would steer the terminal is taken out. */
export function cutTo(text: string, columns: number): string {
  const clean = plain(text);
  if (stringWidth(clean) <= columns) return clean;
  let kept = '';
  let width = 0;
  for (const { segment } of GRAPHEMES.segment(clean)) {
    width += stringWidth(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return columns < 1 ? '' : `${kept}…`;
}

/** The line in at most so many columns, painted. */
export function fitted(line: Line, columns: number, paint: PaintText): string {
  let left = columns;
  let text = '';
  for (const [part, colour] of line) {
    const shown = cutTo(part, left);
    left -= stringWidth(shown);
    text += colour === undefined || shown === '' ? shown : paint(colour, shown);
    if (left <= 0) break;
  }
  return text;
}

/** The second part at the right edge; the first one gives way, but not below what tells what it is. */
export function spread(left: Line, right: Line, columns: number): Line {
  const room = columns - widthOf(right) - 1;
  if (room < LEFT_COLUMNS) return left;
  const kept = cutLine(left, room);
  return [...kept, [' '.repeat(columns - widthOf(kept) - widthOf(right))], ...right];
}

/** Less of a name tells nothing. */
const LEFT_COLUMNS = 12;

function cutLine(line: Line, columns: number): Line {
  let left = columns;
  return line.map(([text, paint]) => {
    const shown = cutTo(text, Math.max(0, left));
    left -= stringWidth(shown);
    return [shown, paint] as const;
  }) as Line;
}
