/**
 * Text of others on a terminal: what looks like nothing, or like something else, is shown as what it is.
 *
 * Owns which characters are not shown. An input that an owner is asked about comes from a Graph or a model; it must not be
 * able to move the cursor, to hide, or to turn around.
 */

/** Control and format characters, and what breaks a line besides them. The line break itself is for the caller. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu;

/** One line, with each unseen character as its escape. */
export function oneLine(text: string): string {
  return text.replaceAll(UNSEEN, escaped);
}

/** Lines, as they are parted by line breaks. */
export function shownLines(text: string): string[] {
  return text.split('\n').map(oneLine);
}

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`;
}
