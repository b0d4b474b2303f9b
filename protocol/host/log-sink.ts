/**
 * Where log lines go: a file descriptor that is written to in the background.
 *
 * Owns what happens when it takes no lines (a full disk, a reader that has gone): those lines are dropped, which is
 * said once on standard error, and the next line is tried again. Must never end, block or grow its process: a full log
 * disk is no reason to lose runs. (pino's own destination ends the process on such an error, and its synchronous flush
 * then repeats the write for ever.)
 */
import { write, writeSync } from 'node:fs';
import { systemClock } from './system-ports.ts';
import { note } from './terminal.ts';

/** Characters that wait for a slow reader. Larger: more memory. Smaller: lines are lost in shorter stalls. */
const WAITING_CHARS = 1024 * 1024;

/** A reader that is slow for a moment is asked again after this long. */
const BUSY_PAUSE_MS = 20;
/** How often the last flush asks a slow reader before it gives up: a second in all. */
const FLUSH_TRIES = 50;

export class LogSink {
  readonly #fd: number;
  #waiting = '';
  #writing = false;
  #told = false;

  constructor(fd: number) {
    this.#fd = fd;
  }

  write(line: string): void {
    if (this.#waiting.length + line.length > WAITING_CHARS) this.#dropped('nobody reads it');
    else this.#waiting += line;
    if (!this.#writing) this.#next();
  }

  /** Writes what waits, now. What is on its way in the background is finished by the runtime. */
  flushSync(): void {
    let rest: Uint8Array = Buffer.from(this.#waiting);
    this.#waiting = '';
    for (let tries = 0; rest.length > 0 && tries < FLUSH_TRIES; ) {
      try {
        rest = rest.subarray(writeSync(this.#fd, rest));
      } catch (error) {
        tries = isBusy(error) ? tries + 1 : FLUSH_TRIES;
        if (tries === FLUSH_TRIES) this.#dropped(error instanceof Error ? error.message : String(error));
        else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_PAUSE_MS);
      }
    }
  }

  #next(): void {
    const bytes = Buffer.from(this.#waiting);
    this.#waiting = '';
    this.#writing = bytes.length > 0;
    if (this.#writing) this.#send(bytes);
  }

  #send(bytes: Uint8Array): void {
    write(this.#fd, bytes, (error, taken) => {
      if (isBusy(error)) {
        systemClock.after(BUSY_PAUSE_MS, () => this.#send(bytes));
      } else if (error === null && taken < bytes.length) {
        this.#send(bytes.subarray(taken));
      } else {
        if (error !== null) this.#dropped(error.message);
        this.#next();
      }
    });
  }

  #dropped(reason: string): void {
    if (this.#told) return;
    this.#told = true;
    try {
      note(`The log cannot be written (${reason}), so lines of it are lost. Everything else goes on.`);
    } catch {
      // Nobody reads standard error either.
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EAGAIN' || error.code === 'EBUSY');
}
