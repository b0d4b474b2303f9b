/**
 * Frozen texts: large values that are written once and read seldom.
 *
 * Owns where each text is: in memory until the next fold, then in a file `frozen-<n>.jsonl` (one a fold, a line
 * `{"id","text"}` each) at a place that the index knows, with a checksum. The index is part of the folded state. Must
 * not decide when to fold; a text is durable before that, since the journal holds it.
 */
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Disk } from './disk.ts';
import { StateDamagedError } from './state-errors.ts';
import type { TextSink } from './tables.ts';

export type FrozenLocation = readonly [file: number, offset: number, length: number, crc32: number];
export type FrozenEntries = readonly (readonly [id: string, location: FrozenLocation])[];

const FILE_NAME = /^frozen-(\d+)\.jsonl$/;

export function frozenName(file: number): string {
  return `frozen-${file}.jsonl`;
}

/** The numbers of the frozen files among these names. */
export function frozenNumbers(names: readonly string[]): number[] {
  return names
    .map((name) => FILE_NAME.exec(name)?.[1])
    .filter((digits) => digits !== undefined)
    .map(Number);
}

/** The files that an index refers to. */
export function frozenFiles(entries: FrozenEntries): Set<number> {
  return new Set(entries.map(([, location]) => location[0]));
}

export class FrozenTexts implements TextSink {
  readonly #disk: Disk;
  readonly #directory: string;
  readonly #texts = new Map<string, string>();
  readonly #index: Map<string, FrozenLocation>;

  constructor(disk: Disk, directory: string, entries: FrozenEntries = []) {
    this.#disk = disk;
    this.#directory = directory;
    this.#index = new Map(entries);
  }

  put(id: string, text: string | null): void {
    this.#index.delete(id);
    if (text === null) this.#texts.delete(id);
    else this.#texts.set(id, text);
  }

  async read(id: string): Promise<string | null> {
    const text = this.#texts.get(id);
    if (text !== undefined) return text;
    const location = this.#index.get(id);
    return location === undefined ? null : this.#readAt(id, location);
  }

  /** What is in files, and what is not yet: copies that later changes do not reach. */
  snapshot(): { entries: FrozenEntries; texts: ReadonlyMap<string, string> } {
    return { entries: [...this.#index], texts: new Map(this.#texts) };
  }

  /** These texts are in a file now. Those that were replaced or removed since stay as they have become. */
  settle(texts: ReadonlyMap<string, string>, entries: FrozenEntries): void {
    for (const [id, location] of entries) {
      if (this.#texts.get(id) !== texts.get(id)) continue;
      this.#texts.delete(id);
      this.#index.set(id, location);
    }
  }

  /** The files that hold a text that can still be asked for. */
  liveFiles(): Set<number> {
    return frozenFiles([...this.#index]);
  }

  async #readAt(id: string, [file, offset, length, check]: FrozenLocation): Promise<string> {
    const path = join(this.#directory, frozenName(file));
    const bytes = await this.#disk.readPart(path, offset, length);
    if (bytes === null) throw damaged(path, 'is missing');
    if (bytes.length !== length || crc32(bytes) !== check) throw damaged(path, `is damaged at byte ${offset}`);
    const line = JSON.parse(bytes.toString());
    if (line.id !== id) throw damaged(path, `holds another text than expected at byte ${offset}`);
    return line.text;
  }
}

/** The content of a frozen file, and where in it each text is. */
export function encodeFrozen(
  file: number,
  texts: ReadonlyMap<string, string>,
): { bytes: Buffer; entries: FrozenEntries } {
  const lines: Buffer[] = [];
  const entries: [string, FrozenLocation][] = [];
  let offset = 0;
  for (const [id, text] of texts) {
    const line = Buffer.from(`${JSON.stringify({ id, text })}\n`);
    lines.push(line);
    entries.push([id, [file, offset, line.length, crc32(line)]]);
    offset += line.length;
  }
  return { bytes: Buffer.concat(lines), entries };
}

function damaged(path: string, fault: string): StateDamagedError {
  const advice = 'This one text cannot be read; everything else can. Restore the file from a backup to get it back.';
  return new StateDamagedError({ path, fault, advice });
}
