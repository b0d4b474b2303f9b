/**
 * Reads a log file from its end, while somebody writes to it.
 *
 * Owns what has been read. A file that was taken up meanwhile is read to its end first, in its new place.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { previousLogFile } from './log-file.ts';

interface OpenFile {
  readonly fd: number;
  readonly ino: number;
  offset: number;
  /** Bytes behind the last whole line. */
  rest: Buffer;
}

export class LogTail {
  readonly #path: string;
  #file: OpenFile | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** The last lines, at most so many; what comes after them is what {@link LogTail.news} gives. */
  last(count: number): string[] {
    if (count === 0) {
      this.news();
      return [];
    }
    const before = linesOf(previousLogFile(this.#path));
    return [...before, ...this.news()].slice(-count);
  }

  /** Whole lines that were written since the last look. Empty when there is no file yet. */
  news(): string[] {
    const lines: string[] = [];
    if (this.#file !== null) lines.push(...readOn(this.#file));
    const now = open(this.#path);
    if (now === null) return lines;
    if (now.ino === this.#file?.ino) closeSync(now.fd);
    else {
      if (this.#file !== null) closeSync(this.#file.fd);
      this.#file = now;
      lines.push(...readOn(now));
    }
    return lines;
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file.fd);
    this.#file = null;
  }
}

function linesOf(path: string): string[] {
  const file = open(path);
  if (file === null) return [];
  const lines = readOn(file);
  closeSync(file.fd);
  return lines;
}

function open(path: string): OpenFile | null {
  try {
    const fd = openSync(path, 'r');
    return { fd, ino: fstatSync(fd).ino, offset: 0, rest: Buffer.alloc(0) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function readOn(file: OpenFile): string[] {
  const bytes = Buffer.alloc(Math.max(0, fstatSync(file.fd).size - file.offset));
  const read = readSync(file.fd, bytes, 0, bytes.length, file.offset);
  file.offset += read;
  const all = Buffer.concat([file.rest, bytes.subarray(0, read)]);
  const end = all.lastIndexOf('\n') + 1;
  file.rest = all.subarray(end);
  return all
    .subarray(0, end)
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '');
}
