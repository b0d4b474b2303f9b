/**
 * What must not be seen of a server's configuration, and how a text is cleared of it.
 *
 * Owns the guess at what is secret: every header, what an address carries beside its place, and every value for the
 * environment or from it, but for paths and what every program is told. Better one word too many: what is cleared are
 * lines of the log and error messages, and never a result.
 */

/** Shorter ones stand in many a word: clearing them would make a log unreadable, and nobody's secret is that short. */
const SECRET_CHARS = 8;
const CLEARED = '[redacted]';

/** Variables that hold no secret, and whose values stand in half of all messages. */
const PLAIN_VARIABLES = new Set('HOME LANG LC_ALL LOGNAME PATH PWD SHELL TERM TMPDIR TZ USER'.split(' '));

/** `/srv/files`, `./files`, `~/files`, `C:\files`. */
const A_PATH = /^(?:[./~]|[A-Za-z]:[\\/])/;

/** Collects the secrets of one server while its configuration is read. */
export class Secrets {
  readonly #texts = new Set<string>();

  /** A value for a server's environment, or from ours. */
  addValue(variable: string, value: string): void {
    if (!PLAIN_VARIABLES.has(variable) && !A_PATH.test(value)) this.#add(value);
  }

  /** `Bearer abc` is one secret, and `abc` is one. */
  addHeader(value: string): void {
    for (const part of [value, value.split(/\s/).at(-1)!]) this.#add(part);
  }

  addAddress(url: URL): void {
    for (const part of [url.username, url.password, ...url.searchParams.values()]) this.#add(part);
  }

  /** The text without any of them. */
  clear(text: string): string {
    let cleared = text;
    for (const secret of this.#texts) cleared = cleared.replaceAll(secret, CLEARED);
    return cleared;
  }

  #add(text: string): void {
    // A key of several lines is logged line by line.
    for (const line of text.split(/\r?\n/)) if (line.length >= SECRET_CHARS) this.#texts.add(line);
  }
}
