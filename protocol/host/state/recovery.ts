/**
 * From what is on disk to the state in memory.
 *
 * Owns which copy of the state is believed. When the state file is damaged and the last good copy with the journal
 * behind it gives the whole state, that is used, with a warning, and the damaged file is moved aside; otherwise the
 * start fails and everything stays as it is. Never starts over empty, never overwrites what it cannot read.
 */
import { join } from 'node:path';
import { Low } from 'lowdb';
import type { Clock } from '../../ports.ts';
import { frozenFiles, frozenNumbers } from './frozen.ts';
import type { Segment } from './journal.ts';
import { segmentNumbers } from './journal-format.ts';
import { type FoldedState, LAST_GOOD_NAME, LowdbFile, NewerStateError, STATE_NAME } from './lowdb-file.ts';
import { openEnd, type Place, type Replayed, replay } from './replay.ts';
import { StateDamagedError } from './state-errors.ts';

export interface RecoveryContext extends Place {
  readonly tables: readonly string[];
  readonly clock: Clock;
}

export interface Recovered extends Replayed {
  /** The segment to go on in. */
  readonly end: Segment;
  readonly base: Base;
  /** Another copy than the state file had to be used; a new state file should be written soon. */
  readonly restored: boolean;
}

/** What a copy of the state needs beside it, so that it stays usable. */
export interface Base {
  /** The first journal segment that it needs. */
  readonly segment: number;
  readonly frozenFiles: ReadonlySet<number>;
  readonly bytes: number;
}

/** The state of a folder in which nothing was ever folded. */
const NOTHING: FoldedState = { through: 0, segment: 1, tables: [], frozen: [] };

const ADVICE = 'Restore the folder from a backup, or choose an empty folder to begin anew. Nothing was changed.';

export async function recover(context: RecoveryContext): Promise<Recovered> {
  const names = await context.disk.list(context.directory);
  const choice = await chooseCopy(context, names);
  const copy = choice.copy.content;
  const replayed = await replay(context, { copy, declaredTables: context.tables, names });
  // Only now is it sure that the state is whole without the files that could not be believed.
  if (choice.restored) await setAside(context, names, choice);
  const end = await openEnd(context, replayed.segments);
  const base = { segment: copy.segment, frozenFiles: frozenFiles(copy.frozen), bytes: choice.copy.bytes };
  return { ...replayed, end, base, restored: choice.restored };
}

interface GoodCopy {
  readonly name: string;
  readonly content: FoldedState;
  readonly bytes: number;
}

interface Choice {
  readonly copy: GoodCopy;
  /** The damaged ones. */
  readonly faults: readonly StateDamagedError[];
  readonly restored: boolean;
}

async function chooseCopy(context: RecoveryContext, names: readonly string[]): Promise<Choice> {
  const state = await readCopy(context, STATE_NAME);
  if (isGood(state)) return { copy: state, faults: [], restored: false };
  const lastGood = await readCopy(context, LAST_GOOD_NAME);
  const faults = [state, lastGood].filter((copy) => copy instanceof StateDamagedError);
  if (isGood(lastGood)) return { copy: lastGood, faults, restored: true };
  // Without any copy the journal alone is the state, as long as it reaches back to the very first batch.
  const [oldestSegment] = segmentNumbers(names);
  const nothingStored = faults.length === 0 && oldestSegment === undefined && frozenNumbers(names).length === 0;
  if (!nothingStored && oldestSegment !== 1) throw cannotRestore(context, faults);
  const copy = { name: 'the journal', content: NOTHING, bytes: 0 };
  return { copy, faults, restored: faults.length > 0 };
}

/** One copy of the state, what is wrong with it, or null when there is none. */
async function readCopy(context: RecoveryContext, name: string): Promise<GoodCopy | StateDamagedError | null> {
  const file = new LowdbFile({ ...context, name });
  const low = new Low(file, NOTHING);
  try {
    await low.read();
  } catch (error) {
    // A newer version's file is not damaged. An older copy in its place would drop what it holds.
    if (error instanceof StateDamagedError && !(error instanceof NewerStateError)) return error;
    throw error;
  }
  return low.data === NOTHING ? null : { name, content: low.data, bytes: file.bytes };
}

function isGood(copy: GoodCopy | StateDamagedError | null): copy is GoodCopy {
  return copy !== null && !(copy instanceof StateDamagedError);
}

function cannotRestore({ directory }: Place, faults: readonly StateDamagedError[]): StateDamagedError {
  const path = faults[0]?.path ?? join(directory, STATE_NAME);
  const own = faults[0]?.fault ?? 'is missing, though files that belong to it are there';
  const other =
    faults[1] === undefined ? 'There is no other whole copy' : `The other copy, ${faults[1].path}, ${faults[1].fault}`;
  return new StateDamagedError({ path, fault: `${own}. ${other}`, advice: ADVICE });
}

/** Moves the files that could not be believed out of the way, so that they are kept and not met again. */
async function setAside(context: RecoveryContext, names: readonly string[], { copy, faults }: Choice): Promise<void> {
  const { disk, directory, clock, log } = context;
  const stamp = new Date(clock.now()).toISOString().replaceAll(':', '-');
  for (const { path, fault } of faults) {
    let kept = `${path}.damaged-${stamp}`;
    if (names.some((name) => join(directory, name) === kept)) kept += `-${disk.uniqueSuffix()}`;
    await disk.rename(path, kept);
    log.warn('state.restored', { from: copy.name, path, fault, kept });
  }
  if (faults.length === 0)
    log.warn('state.restored', { from: copy.name, path: join(directory, STATE_NAME), fault: 'is missing' });
  await disk.syncDirectory(directory);
}
