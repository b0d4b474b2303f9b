/**
 * A terminal that one picture fills: drawn in place, keys as they are pressed, and left as it was found.
 *
 * Owns the codes that steer it, all of them what terminals have had for decades, so no library is needed for them.
 */
import { emitKeypressEvents } from 'node:readline';
import type { ReadStream, WriteStream } from 'node:tty';

const ENTER = '\u001b[?1049h\u001b[?25l\u001b[?7l';
const LEAVE = '\u001b[?7h\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const CLEAR = '\u001b[2J';
/** In front of a line: behind one that is full, it would take the last letter. */
const CLEAR_LINE = '\u001b[K';

export interface PressedKey {
  readonly name?: string;
  readonly sequence?: string;
}

export class FullScreen {
  readonly #out: WriteStream;
  readonly #in: ReadStream;
  #shown = '';
  #left = false;

  constructor(out: WriteStream, input: ReadStream) {
    this.#out = out;
    this.#in = input;
    // Also when something goes wrong: a terminal without a cursor is of little use.
    process.once('exit', this.leave);
    out.write(ENTER);
  }

  get size(): { columns: number; rows: number } {
    return { columns: this.#out.columns || 80, rows: this.#out.rows || 24 };
  }

  /** Whether there is somebody to press keys. */
  get hasKeys(): boolean {
    return this.#in.isTTY;
  }

  onResize(changed: () => void): void {
    this.#out.on('resize', () => {
      this.#shown = '';
      this.#out.write(CLEAR);
      changed();
    });
  }

  onKey(pressed: (key: PressedKey) => void): void {
    if (!this.hasKeys) return;
    emitKeypressEvents(this.#in);
    this.#in.setRawMode(true);
    this.#in.on('keypress', (_text, key: PressedKey) => pressed(key));
    this.#in.resume();
  }

  /** As many lines as there are rows. Nothing is written when nothing has changed. */
  draw(lines: readonly string[]): void {
    const frame = lines.map((line) => `${CLEAR_LINE}${line}`).join('\r\n');
    if (frame === this.#shown || this.#left) return;
    this.#shown = frame;
    this.#out.write(`${HOME}${frame}`);
  }

  readonly leave = (): void => {
    if (this.#left) return;
    this.#left = true;
    if (this.hasKeys) this.#in.setRawMode(false);
    this.#in.pause();
    this.#out.write(LEAVE);
  };
}
