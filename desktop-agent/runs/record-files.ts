/**
 * The folder with the records of runs: names, and reading and writing of whole lines.
 *
 * Owns the files; knows nothing of what the lines mean. A name begins with the instant of the run's start, so names in
 * order are runs in order. Nothing here is synced: a record is for people, and what decides whether a command ran is
 * the journal. A power cut may take the last moments of a record, and no run waits for a disk.
 */
import { join } from 'node:path';
import { type Disk, type OpenHow, writeFully } from '../../protocol/host/state/disk.ts';
import { commandIdSchema } from '../../protocol/ids.ts';
import type { ProcessMark } from './record-lines.ts';

/** A record's first or last line is looked for in so many bytes; longer ones are found by reading on. */
const END_BYTES = 16 * 1024;
/** What is read, and of a long result written, in one step. Larger: each step holds up the desktop longer. */
const STEP_BYTES = 256 * 1024;

const ENDING = '.jsonl';
const RESULT_ENDING = '.result.json';
const NAME = /^\d{8}T\d{6}\.\d{3}Z_[0-9a-f-]{36}$/;
const NEWLINE = 0x0a;

export type RecordName = string;

/** Where the records are, in the data folder of the desktop. */
export function runsFolder(desktopFolder: string): string {
  return join(desktopFolder, 'runs');
}

export function recordName(startedAtMs: number, commandId: string): RecordName {
  return `${new Date(startedAtMs).toISOString().replaceAll(/[-:]/g, '')}_${commandIdSchema.parse(commandId)}`;
}

export function commandIdOf(name: RecordName): string {
  return name.slice(name.indexOf('_') + 1);
}

export interface OpenRecord {
  write(bytes: Uint8Array, position: number): Promise<void>;
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
}

export class RecordFiles {
  readonly #disk: Disk;
  readonly #folder: string;

  constructor({ disk, folder }: { readonly disk: Disk; readonly folder: string }) {
    this.#disk = disk;
    this.#folder = folder;
  }

  /** Makes the folder, for the owner's eyes only. */
  prepare(): Promise<void> {
    return this.#disk.makeDirectory(this.#folder);
  }

  async thisProcess(): Promise<ProcessMark> {
    const { pid } = this.#disk;
    return { pid, start: (await this.#disk.processStart(pid)) ?? '' };
  }

  /** Whether it lives, as far as the system says. */
  async isAlive({ pid, start }: ProcessMark): Promise<boolean> {
    const now = await this.#disk.processStart(pid);
    return now !== null && (now === start || now === '' || start === '');
  }

  /** All records, the oldest first; none when there is no folder yet. */
  async names(): Promise<RecordName[]> {
    const files = await this.#disk.list(this.#folder).catch(() => []);
    return files
      .filter((file) => file.endsWith(ENDING))
      .map((file) => file.slice(0, -ENDING.length))
      .filter((name) => NAME.test(name))
      .sort();
  }

  /** What a record and its result take. */
  async bytesOf(name: RecordName): Promise<number> {
    const sizes = [this.#disk.size(this.#path(name)), this.#disk.size(this.#resultPath(name))];
    return (await Promise.all(sizes)).reduce<number>((sum, size) => sum + (size ?? 0), 0);
  }

  async open(name: RecordName, how: OpenHow): Promise<OpenRecord> {
    const file = await this.#disk.open(this.#path(name), how);
    return { ...file, write: (bytes, position) => writeFully(file, bytes, position) };
  }

  /** Puts a line behind the last whole one, in place of a torn one. */
  async appendLine(name: RecordName, line: string): Promise<void> {
    const end = await this.#endOfLines(name);
    const bytes = Buffer.from(`${line}\n`);
    const file = await this.open(name, 'extend');
    try {
      await file.write(bytes, end);
      await file.truncate(end + bytes.length);
    } finally {
      await file.close();
    }
  }

  /** A result that is too long for a line, as it is: a file of JSON. */
  async writeResult(name: RecordName, json: string): Promise<void> {
    const file = await this.#disk.open(this.#resultPath(name), 'replace');
    try {
      let position = 0;
      for (let at = 0; at < json.length; ) {
        let end = at + STEP_BYTES;
        if (/[\ud800-\udbff]/.test(json.charAt(end - 1))) end -= 1;
        const bytes = Buffer.from(json.slice(at, end));
        await writeFully(file, bytes, position);
        position += bytes.length;
        at = end;
      }
    } finally {
      await file.close();
    }
  }

  async readResult(name: RecordName): Promise<string | null> {
    return (await this.#disk.read(this.#resultPath(name)))?.toString('utf8') ?? null;
  }

  removeResult(name: RecordName): Promise<void> {
    return this.#disk.remove(this.#resultPath(name));
  }

  async remove(name: RecordName): Promise<void> {
    await this.removeResult(name);
    await this.#disk.remove(this.#path(name));
  }

  /** Whole lines, in order. What a crash tore is not among them. */
  async *lines(name: RecordName, stepBytes = STEP_BYTES): AsyncGenerator<string> {
    let rest: Buffer[] = [];
    for (let offset = 0; ; ) {
      const part = await this.#disk.readPart(this.#path(name), offset, stepBytes);
      if (part === null || part.length === 0) return;
      offset += part.length;
      let from = 0;
      for (let at = part.indexOf(NEWLINE); at >= 0; at = part.indexOf(NEWLINE, from)) {
        yield Buffer.concat([...rest, part.subarray(from, at)]).toString('utf8');
        rest = [];
        from = at + 1;
      }
      rest.push(part.subarray(from));
    }
  }

  async firstLine(name: RecordName): Promise<string | null> {
    for await (const line of this.lines(name, END_BYTES)) return line;
    return null;
  }

  /** The last whole line; null when there is none, or it is too long to be the end of a run. */
  async lastLine(name: RecordName): Promise<string | null> {
    const size = (await this.#disk.size(this.#path(name))) ?? 0;
    const from = Math.max(0, size - END_BYTES);
    const part = await this.#disk.readPart(this.#path(name), from, size - from);
    const end = part?.lastIndexOf(NEWLINE) ?? -1;
    if (part === null || end <= 0) return null;
    const start = part.lastIndexOf(NEWLINE, end - 1);
    return start < 0 && from > 0 ? null : part.toString('utf8', start + 1, end);
  }

  async #endOfLines(name: RecordName): Promise<number> {
    let end = 0;
    for (let offset = 0; ; ) {
      const part = await this.#disk.readPart(this.#path(name), offset, STEP_BYTES);
      if (part === null || part.length === 0) return end;
      const last = part.lastIndexOf(NEWLINE);
      if (last >= 0) end = offset + last + 1;
      offset += part.length;
    }
  }

  #path(name: RecordName): string {
    return join(this.#folder, `${name}${ENDING}`);
  }

  #resultPath(name: RecordName): string {
    return join(this.#folder, `${name}${RESULT_ENDING}`);
  }
}
