/**
 * Words for people: results go to standard output, remarks to standard error, so that a pipe gets results only.
 *
 * Owns where colours go: to a terminal that has them, and never with NO_COLOR.
 */
import { stripVTControlCharacters, styleText } from 'node:util';

export type Paint = Parameters<typeof styleText>[0];

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

export function note(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** The text in these colours, where the stream that it is for shows colours. */
export function painted(paint: Paint, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  // Looked at first: off a terminal, the environment is not asked, which Deno may forbid.
  return stream.isTTY ? styleText(paint, text, { stream, validateStream: true }) : text;
}

/**
 * Text that others wrote, on one line and without what would steer the terminal: a Graph's log line must not be able to
 * paint over what this desktop says.
 */
export function plain(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ');
}

/** The same with its lines as they are. */
export function plainLines(text: string): string {
  return text.split('\n').map(plain).join('\n');
}

/** Columns, each as wide as its widest cell; colours take no place. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, shownWidth(cell));
  }
  const padded = (cell: string, index: number) => cell + ' '.repeat((widths[index] ?? 0) - shownWidth(cell));
  return rows.map((row) => row.map(padded).join('  ').trimEnd());
}

function shownWidth(text: string): number {
  return stripVTControlCharacters(text).length;
}
