/**
 * Where log lines go: a file descriptor that is written to at once, in the order of the lines.
 *
 * Owns what happens when it takes no lines. A reader that is slow for a moment is asked again; a full disk or a reader
 * that has gone loses lines, which is said once on standard error, and the next line is tried again. Must never end,
 * block for long or grow its process: a full log disk is no reason to lose runs. (pino's own destination ends the
 * process on such an error, and its synchronous flush repeats the write for ever. A write in the background could be
 * lost with an exit.)
 */
import { writeSync } from 'node:fs';
import type { Timer } from '../ports.ts';
import { systemClock } from './system-ports.ts';
import { note } from './terminal.ts';

/** Bytes that wait for a slow reader. Larger: more memory. Smaller: lines are lost in shorter stalls. */
const WAITING_BYTES = 1024 * 1024;

/** A reader that is slow for a moment is asked again after this long. */
const BUSY_PAUSE_MS = 20;
/** How often the last flush asks a slow reader before it gives up: a second in all. */
const FLUSH_TRIES = 50;

export class LogSink {
  readonly #fd: number;
  /** Lines that the reader has not taken, the first one maybe in part. */
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #retry: Timer | null = null;
  #told = false;

  constructor(fd: number) {
    this.#fd = fd;
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#waitingBytes + bytes.length > WAITING_BYTES) {
      this.#lost('nobody reads it');
      return;
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#retry === null) this.#send();
  }

  /** Writes what waits, now; a slow reader gets a second. */
  flushSync(): void {
    this.#retry?.cancel();
    this.#retry = null;
    for (let tries = 0; this.#waiting.length > 0 && tries < FLUSH_TRIES; tries += 1) {
      if (tries > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_PAUSE_MS);
      this.#writeWaiting();
    }
    this.#forgetWaiting();
  }

  #send(): void {
    this.#retry = null;
    this.#writeWaiting();
    if (this.#waiting.length > 0) this.#retry = systemClock.after(BUSY_PAUSE_MS, () => this.#send());
  }

  /** Leaves what a busy reader did not take. */
  #writeWaiting(): void {
    try {
      for (let line = this.#waiting[0]; line !== undefined; line = this.#waiting[0]) {
        const taken = writeSync(this.#fd, line);
        this.#waitingBytes -= taken;
        if (taken < line.length) this.#waiting[0] = line.subarray(taken);
        else this.#waiting.shift();
      }
    } catch (error) {
      if (isBusy(error)) return;
      this.#forgetWaiting();
      this.#lost(error instanceof Error ? error.message : String(error));
    }
  }

  #forgetWaiting(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  #lost(reason: string): void {
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
