/**
 * Progress on standard error, when that is a terminal: a bar, or a line of words.
 *
 * Twenty lines of our own: packages for this bring themes, several bars and half a dozen dependencies, and what is
 * needed is one line that is painted over. Owns that line; nothing else may write to standard error while it is there.
 */

export interface Progress {
  done(count: number): void;
  /** Takes the bar away. */
  end(): void;
}

const BAR_CHARS = 30;
const CLEAR_LINE = '\r\u001b[2K';

export function createProgress(
  label: string,
  total: number,
  stream: Pick<NodeJS.WriteStream, 'write' | 'isTTY'> = process.stderr,
): Progress {
  const line = createProgressLine(stream);
  const paint = (count: number) => {
    const filled = Math.round((BAR_CHARS * count) / total);
    const bar = '█'.repeat(filled) + '░'.repeat(BAR_CHARS - filled);
    line.say(`${label} ${bar} ${Math.floor((100 * count) / total)} %`);
  };
  paint(0);
  return { done: paint, end: line.end };
}

/** For work whose length nobody knows: what is done now. */
export interface ProgressLine {
  say(text: string): void;
  /** Takes the line away. */
  end(): void;
}

export function createProgressLine(stream: Pick<NodeJS.WriteStream, 'write' | 'isTTY'> = process.stderr): ProgressLine {
  if (!stream.isTTY) return { say() {}, end() {} };
  return { say: (text) => void stream.write(`${CLEAR_LINE}${text}`), end: () => void stream.write(CLEAR_LINE) };
}
