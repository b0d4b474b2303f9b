/**
 * How a journal segment looks, and how one is read after anything may have happened to it.
 *
 * Owns the format. A segment is a text file of lines `<crc32> <rest>`, where the eight hexadecimal digits check the
 * rest. The first line names the format, the others are one write each:
 *
 *     5b0c2f4e {"format":"graph-relay-journal","version":1,"segment":7}
 *     91c0aa17 120 [[{"table":"commands","id":"…","row":{…}}],[…]]
 *
 * that is the number of the first batch and the list of batches. One line a write, not one a batch: a write that was
 * torn by a power cut is then one bad line with nothing good behind it, whatever order its pages went out in, and any
 * good line behind a bad one proves that the bad one was acknowledged once. Must not touch a disk.
 */
import { crc32 } from 'node:zlib';

const FORMAT = 'graph-relay-journal';
const VERSION = 1;
const NEWLINE = 0x0a;
/** Eight digits and a blank. */
const CHECK_CHARS = 9;
const SEGMENT_NAME = /^journal-(\d+)\.log$/;

export function segmentName(segment: number): string {
  return `journal-${segment}.log`;
}

/** The numbers of the segments among these names, in order. */
export function segmentNumbers(names: readonly string[]): number[] {
  return names
    .map((name) => SEGMENT_NAME.exec(name)?.[1])
    .filter((digits) => digits !== undefined)
    .map(Number)
    .sort((a, b) => a - b);
}

export function encodeHeader(segment: number): Buffer {
  return encodeLine(JSON.stringify({ format: FORMAT, version: VERSION, segment }));
}

/** One write: batches that are JSON texts already, numbered from `first` on. */
export function encodeBatches(batches: readonly string[], first: number): Buffer {
  return encodeLine(`${first} [${batches.join(',')}]`);
}

function encodeLine(text: string): Buffer {
  const line = Buffer.from(`00000000 ${text}\n`);
  line.write(checksum(line.subarray(CHECK_CHARS, -1)), 'latin1');
  return line;
}

export function checksum(bytes: Uint8Array): string {
  return crc32(bytes).toString(16).padStart(8, '0');
}

/** One write as it is read back. */
export interface JournalWrite {
  readonly first: number;
  readonly batches: readonly unknown[];
}

export interface SegmentContent {
  /** The good writes from the start of the file to the first fault. */
  readonly writes: readonly JournalWrite[];
  /** Where the first fault is, or the length of the file. */
  readonly goodBytes: number;
  /** What is wrong at `goodBytes`, for a person; null when nothing is. */
  readonly fault: string | null;
  /** There are good writes behind the fault. */
  readonly writesBehind: boolean;
  /** The first line is bad, in a file that is longer than a first line: its making cannot have been cut off. */
  readonly headerLost: boolean;
  /** The segment was written by a version of the program that this one does not know. */
  readonly newer: boolean;
}

export function readSegment(bytes: Buffer, segment: number): SegmentContent {
  const header = encodeHeader(segment);
  const writes: JournalWrite[] = [];
  const firstLine = lineAt(bytes, 0);
  if (firstLine === null || !header.equals(bytes.subarray(0, firstLine.next))) {
    return {
      writes,
      goodBytes: 0,
      fault: describeFault(bytes, 0, 'does not begin as a journal does'),
      writesBehind: hasWrites(bytes, 0),
      headerLost: bytes.length > header.length,
      newer: firstLine !== null && isNewer(firstLine.text),
    };
  }
  let at = firstLine.next;
  while (at < bytes.length) {
    const line = lineAt(bytes, at);
    const write = line === null ? null : parseWrite(line.text);
    if (line === null || write === null) break;
    writes.push(write);
    at = line.next;
  }
  const faulty = at < bytes.length;
  return {
    writes,
    goodBytes: at,
    fault: faulty ? describeFault(bytes, at, `has a line at byte ${at} that is cut off or was changed`) : null,
    writesBehind: faulty && hasWrites(bytes, at),
    headerLost: false,
    newer: false,
  };
}

/** The line at `start` when it is whole and its checksum is right. */
function lineAt(bytes: Buffer, start: number): { text: string; next: number } | null {
  const end = bytes.indexOf(NEWLINE, start);
  if (end < start + CHECK_CHARS) return null;
  const rest = bytes.subarray(start + CHECK_CHARS, end);
  if (bytes.toString('latin1', start, start + CHECK_CHARS) !== `${checksum(rest)} `) return null;
  return { text: rest.toString(), next: end + 1 };
}

function parseWrite(text: string): JournalWrite | null {
  const blank = text.indexOf(' ');
  const first = Number(text.slice(0, blank));
  const batches = parseJson(text.slice(blank + 1));
  if (blank < 1 || !Number.isSafeInteger(first) || !Array.isArray(batches)) return null;
  return { first, batches };
}

function hasWrites(bytes: Buffer, from: number): boolean {
  for (let at = from; at < bytes.length; ) {
    const line = lineAt(bytes, at);
    if (line !== null && parseWrite(line.text) !== null) return true;
    const end = bytes.indexOf(NEWLINE, at);
    if (end === -1) return false;
    at = end + 1;
  }
  return false;
}

function isNewer(headerText: string): boolean {
  const header = parseJson(headerText);
  if (typeof header !== 'object' || header === null || !('format' in header) || !('version' in header)) return false;
  return header.format === FORMAT && typeof header.version === 'number' && header.version > VERSION;
}

function describeFault(bytes: Buffer, at: number, otherwise: string): string {
  if (bytes.length === 0) return 'is empty';
  if (bytes.subarray(at).every((byte) => byte === 0)) return `holds only zero bytes from byte ${at} on`;
  return otherwise;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
