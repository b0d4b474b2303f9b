/**
 * JSON that survives every reader on its way: how deep it may be, and which characters its strings may hold.
 *
 * Both sides settle this at their border, once; whatever is derived later comes from the settled value. Nothing here
 * recurses, since what it guards against is a value that overflows the stack.
 */

/** Whether arrays and objects are nested in more than `levels` levels. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  let level = [value].filter(isContainer);
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === levels) return true;
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
  return false;
}

export function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** An escaped pair of surrogates, the escape of any other code unit, or a short escape (`\\`, `\n`). */
const ESCAPE = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u([0-9a-fA-F]{4})|\\./g;

/** Cheap, and right for nearly all texts: without such an escape there is nothing to repair. */
const SUSPICIOUS = /\\u(?:0000|[dD][89a-fA-F])/;

const REPLACEMENT = '\ufffd';

/**
 * The same JSON text, with U+FFFD in place of each lone surrogate and each NUL. Both are legal in JSON, and there are
 * parsers, databases and terminals that refuse the whole text for one of them.
 */
export function repairedJson(json: string): string {
  const text = json.toWellFormed();
  if (!SUSPICIOUS.test(text)) return text;
  return text.replace(ESCAPE, (sequence, hex: string | undefined) =>
    hex !== undefined && /^(?:0000|d[89a-f])/i.test(hex) ? REPLACEMENT : sequence,
  );
}

/** Whether a text is one that {@link repairedJson} would leave alone. */
export function isCleanText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}
