/**
 * A log as a file of bounded size, beside whatever else the lines go to: so that it can be found, however the process
 * was started.
 *
 * Owns the file and the one before it, which is taken up when the file is full. Like the log sink it must never end or
 * hold up its process: a line that cannot be written is lost, which is said once. One process writes to it: the one that
 * has the data folder.
 */
import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { note } from './terminal.ts';

/** Of one file; there are two at most. Larger: more of the past, and more disk. A busy desktop writes some 2 MB a day. */
export const LOG_FILE_BYTES = 5 * 1024 * 1024;

/** Where the lines before those of the file are. */
export function previousLogFile(path: string): string {
  return `${path}.1`;
}

export class LogFile {
  readonly #path: string;
  readonly #maxBytes: number;
  #fd: number | null = null;
  #bytes = 0;
  #told = false;

  constructor(path: string, maxBytes = LOG_FILE_BYTES) {
    this.#path = path;
    this.#maxBytes = maxBytes;
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    try {
      this.#fd ??= this.#open();
      if (this.#bytes > 0 && this.#bytes + bytes.length > this.#maxBytes) this.#fd = this.#turned();
      this.#bytes += writeSync(this.#fd, bytes);
    } catch (error) {
      this.#lost(error instanceof Error ? error.message : String(error));
    }
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }

  #open(): number {
    mkdirSync(dirname(this.#path), { recursive: true });
    const fd = openSync(this.#path, 'a', 0o600);
    this.#bytes = fstatSync(fd).size;
    return fd;
  }

  #turned(): number {
    this.close();
    renameSync(this.#path, previousLogFile(this.#path));
    return this.#open();
  }

  #lost(reason: string): void {
    if (this.#told) return;
    this.#told = true;
    note(
      `${this.#path} cannot be written (${reason}), so lines of the log are missing there. Everything else goes on.`,
    );
  }
}
