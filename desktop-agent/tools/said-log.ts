/**
 * What a server says on standard error, as lines of the log: cleared of secrets, cut, and not too many.
 *
 * Owns the bounds. Whatever a server says must neither fill the log nor move the cursor of the terminal that shows it.
 */
import type { Clock, Log } from '../../protocol/ports.ts';
import { cleanText } from '../../protocol/text.ts';
import type { Secrets } from './secrets.ts';
import { oneLine } from './shown-text.ts';
import type { ToolLimits } from './tool-limits.ts';

/** More of one line is not looked at: the end of it is cut off anyway. */
const LINE_CHARS = 16 * 1024;
const MINUTE_MS = 60_000;

export interface SaidLogOptions {
  readonly server: string;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Pick<ToolLimits, 'saidChars' | 'saidLines'>;
}

export class SaidLog {
  readonly #options: SaidLogOptions;
  #rest = '';
  /** Monotonic: when the minute began whose lines are counted. */
  #since = Number.NEGATIVE_INFINITY;
  #lines = 0;
  #dropped = 0;

  constructor(options: SaidLogOptions) {
    this.#options = options;
  }

  /** Takes what it has said, in pieces of any length. */
  take(text: string): void {
    const lines = `${this.#rest}${text}`.split('\n');
    // A secret at the cut is beyond what is shown of a line.
    this.#rest = lines.pop()!.slice(0, LINE_CHARS);
    for (const line of lines) this.#say(line);
  }

  /** It will say no more: its last line may have no end. */
  end(): void {
    this.#say(this.#rest);
    this.#rest = '';
    this.#tellDropped();
  }

  #say(line: string): void {
    const { server, secrets, clock, log, limits } = this.#options;
    const said = cleanText(oneLine(secrets.clear(line.slice(0, LINE_CHARS)).trim()), limits.saidChars);
    if (said === '') return;
    if (clock.monotonic() - this.#since >= MINUTE_MS) {
      this.#tellDropped();
      this.#since = clock.monotonic();
      this.#lines = 0;
    }
    this.#lines += 1;
    if (this.#lines <= limits.saidLines) log.info('tool-server.said', { server, said });
    else this.#dropped += 1;
  }

  #tellDropped(): void {
    if (this.#dropped === 0) return;
    this.#options.log.warn('tool-server.said-too-much', {
      server: this.#options.server,
      lines_left_out: this.#dropped,
    });
    this.#dropped = 0;
  }
}
