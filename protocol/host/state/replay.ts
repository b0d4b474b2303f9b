/**
 * Rolling a copy of the state forward through the journal.
 *
 * Owns what counts as the normal trace of a kill and what as damage. A bad end with no good write behind it is a write
 * that was never acknowledged, and is cut off; a bad place with a good write behind it, a missing segment or a gap in
 * the numbers is damage. Reading changes nothing; only {@link openEnd} does.
 */
import { join } from 'node:path';
import type { Log } from '../../ports.ts';
import type { Disk } from './disk.ts';
import { FrozenTexts } from './frozen.ts';
import { createSegment, type Segment } from './journal.ts';
import { encodeHeader, readSegment, type SegmentContent, segmentName, segmentNumbers } from './journal-format.ts';
import { type FoldedState, NewerStateError } from './lowdb-file.ts';
import { StateDamagedError } from './state-errors.ts';
import { type AnyChange, applyChanges, StateTables } from './tables.ts';

export interface Place {
  readonly disk: Disk;
  readonly directory: string;
  readonly log: Log;
}

export interface Replayed {
  readonly tables: StateTables;
  readonly texts: FrozenTexts;
  /** Number of the last batch. */
  readonly durable: number;
  /** Bytes of batches behind the copy that was rolled forward. */
  readonly unfoldedBytes: number;
  /** The segments that were read; none in a folder in which nothing was ever stored. */
  readonly segments: readonly ReadSegment[];
}

export interface ReadSegment {
  readonly number: number;
  readonly path: string;
  readonly content: SegmentContent;
}

const ADVICE =
  'Restore the folder from a backup. To go on without the changes from there on, move that file and the journal files ' +
  'with higher numbers elsewhere, and put an empty file in its place. Nothing was changed.';

export interface ReplayFrom {
  readonly copy: FoldedState;
  readonly declaredTables: readonly string[];
  /** Names in the folder. */
  readonly names: readonly string[];
}

export async function replay(place: Place, { copy, declaredTables, names }: ReplayFrom): Promise<Replayed> {
  const segments = await readSegments(place, copy.segment, names);
  const tables = new StateTables(declaredTables, copy.tables);
  const texts = new FrozenTexts(place.disk, place.directory, copy.frozen);
  let durable = copy.through;
  let unfoldedBytes = 0;
  for (const { path, content } of segments) {
    for (const { first, batches } of content.writes) {
      if (first !== durable + 1) {
        const fault = `goes on with change ${first} where change ${durable + 1} belongs`;
        throw new StateDamagedError({ path, fault, advice: ADVICE });
      }
      for (const changes of batches) applyChanges(changes as AnyChange[], tables, texts);
      durable += batches.length;
    }
    if (content.writes.length > 0) unfoldedBytes += content.goodBytes;
  }
  return { tables, texts, durable, unfoldedBytes, segments };
}

/** Reads the segments from `first` on, and throws for anything that a kill does not leave behind. */
async function readSegments(
  { disk, directory }: Place,
  first: number,
  names: readonly string[],
): Promise<ReadSegment[]> {
  const present = segmentNumbers(names);
  // Segment 1 is made by the first start; until then there is nothing to read.
  if (present.length === 0 && first === 1) return [];
  const last = Math.max(first, present.at(-1) ?? first);
  const segments: ReadSegment[] = [];
  let torn: ReadSegment | null = null;
  for (let number = first; number <= last; number += 1) {
    const path = join(directory, segmentName(number));
    const bytes = await disk.read(path);
    if (bytes === null) throw new StateDamagedError({ path, fault: 'is missing', advice: ADVICE });
    const segment = { number, path, content: readSegment(bytes, number) };
    if (segment.content.newer) throw new NewerStateError(path);
    if (isDamaged(segment.content, number === last)) throw damage(segment);
    // A good write in a later segment proves that the torn one was whole once.
    if (torn !== null && segment.content.writes.length > 0) throw damage(torn);
    if (segment.content.fault !== null) torn = segment;
    segments.push(segment);
  }
  return segments;
}

function isDamaged(content: SegmentContent, isLast: boolean): boolean {
  if (content.fault === null) return false;
  if (content.writesBehind || content.headerLost) return true;
  // A first line is whole before its segment is used, and the next segment is made only while this one is in use.
  return content.goodBytes === 0 && !isLast;
}

function damage({ path, content }: ReadSegment): StateDamagedError {
  return new StateDamagedError({ path, fault: content.fault ?? 'is damaged', advice: ADVICE });
}

/** Cuts off a torn end, wherever it is, and opens the last segment for going on. */
export async function openEnd(place: Place, segments: readonly ReadSegment[]): Promise<Segment> {
  const { disk, directory, log } = place;
  for (const { path, content } of segments) {
    if (content.fault === null) continue;
    log.info('state.tail-cut', { path, at: content.goodBytes, fault: content.fault });
    const file = await disk.open(path, 'extend');
    try {
      await file.truncate(content.goodBytes);
      await file.sync();
    } finally {
      await file.close();
    }
  }
  const last = segments.at(-1);
  if (last === undefined) return createSegment(disk, directory, 1);
  // A segment whose making was cut off has no whole first line.
  if (last.content.goodBytes < encodeHeader(last.number).length) return createSegment(disk, directory, last.number);
  return { number: last.number, file: await disk.open(last.path, 'extend'), length: last.content.goodBytes };
}
