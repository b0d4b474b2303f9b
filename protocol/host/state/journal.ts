/**
 * The end of the journal: the segment that is written to.
 *
 * Owns the open file and its last good length. A write that failed may have left anything behind that length, so the
 * file is cut back before the next one. Must not decide when to write (`group-commit.ts`) or when to begin a new
 * segment (`fold.ts`).
 */
import { join } from 'node:path';
import type { Disk, DiskFile } from './disk.ts';
import { writeFully } from './disk.ts';
import type { BatchSink } from './group-commit.ts';
import { encodeBatches, encodeHeader, segmentName } from './journal-format.ts';

/** An open segment and the length up to which it is good. */
export interface Segment {
  readonly number: number;
  readonly file: DiskFile;
  readonly length: number;
}

export class Journal implements BatchSink {
  #segment: Segment;
  #length: number;
  /** Bytes of batches that are not in the state file. */
  #unfolded: number;
  #torn = false;

  constructor(segment: Segment, unfoldedBytes: number) {
    this.#segment = segment;
    this.#length = segment.length;
    this.#unfolded = unfoldedBytes;
  }

  get segment(): number {
    return this.#segment.number;
  }

  get unfoldedBytes(): number {
    return this.#unfolded;
  }

  async write(batches: readonly string[], first: number): Promise<void> {
    const { file } = this.#segment;
    const line = encodeBatches(batches, first);
    if (this.#torn) await file.truncate(this.#length);
    this.#torn = true;
    await writeFully(file, line, this.#length);
    await file.sync();
    this.#torn = false;
    this.#length += line.length;
    this.#unfolded += line.length;
  }

  /** Goes on in the next segment and gives back the file of the one before, for closing. */
  switchTo(next: Segment): DiskFile {
    const { file } = this.#segment;
    this.#segment = next;
    this.#length = next.length;
    return file;
  }

  /** The first `bytes` of what was unfolded are in the state file now. */
  folded(bytes: number): void {
    this.#unfolded -= bytes;
  }

  close(): Promise<void> {
    return this.#segment.file.close();
  }
}

/**
 * A new segment that a power cut does not take away again. One of this number that never came into use is started
 * over.
 */
export async function createSegment(disk: Disk, directory: string, number: number): Promise<Segment> {
  const file = await disk.open(join(directory, segmentName(number)), 'replace');
  try {
    const header = encodeHeader(number);
    await writeFully(file, header, 0);
    await file.sync();
    await disk.syncDirectory(directory);
    return { number, file, length: header.length };
  } catch (error) {
    await file.close();
    throw error;
  }
}
