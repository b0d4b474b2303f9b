/**
 * The folded state as one lowdb file.
 *
 * Owns the adapter through which lowdb reads and writes it, and the file's format: a line of JSON that names the
 * format, its version, and length and checksum of what follows, then the state as one line of JSON.
 *
 *     {"format":"graph-relay-state","version":1,"bytes":5120,"crc32":"91c0aa17"}
 *     {"through":120,"segment":7,"tables":[["commands",[["…",{…}]]]],"frozen":[["…",[3,0,512,1234567]]]}
 *
 * A write never touches the present file: it makes a new one beside it, moves that over the name, and keeps the one
 * from before as the last good copy. Must not know the journal.
 */
import { join } from 'node:path';
import type { Adapter } from 'lowdb';
import type { Clock } from '../../ports.ts';
import type { Disk } from './disk.ts';
import { errorCode, writeNewFile } from './disk.ts';
import type { FrozenEntries } from './frozen.ts';
import { checksum } from './journal-format.ts';
import { StateDamagedError } from './state-errors.ts';
import type { TableEntries } from './tables.ts';

export interface FoldedState {
  /** The last batch that is in here. */
  readonly through: number;
  /** The journal segment that goes on from here. */
  readonly segment: number;
  readonly tables: TableEntries;
  readonly frozen: FrozenEntries;
}

export const STATE_NAME = 'state.json';
export const LAST_GOOD_NAME = 'state.last-good.json';
/** What is between a name and the unique part of a file that is still being written. */
export const DRAFT_MARK = '.tmp-';

const FORMAT = 'graph-relay-state';
const VERSION = 1;
const NEWLINE = 0x0a;

/**
 * On Windows a scanner or indexer that holds the file makes the rename fail for a moment. Six tries in 620 ms; a file
 * that is held longer is held by something that a retry does not cure, and the next fold tries again.
 */
const RENAME_TRIES = 6;
const RENAME_FIRST_PAUSE_MS = 20;
const HELD_OPEN = new Set(['EPERM', 'EBUSY', 'EACCES']);

interface LowdbFileOptions {
  readonly disk: Disk;
  readonly directory: string;
  readonly clock: Pick<Clock, 'after'>;
  /** Which of the two copies; a write goes to the state file only. */
  readonly name?: string;
}

export class LowdbFile implements Adapter<FoldedState> {
  readonly #disk: Disk;
  readonly #directory: string;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #path: string;
  #bytes = 0;
  #published = false;

  constructor(options: LowdbFileOptions) {
    this.#disk = options.disk;
    this.#directory = options.directory;
    this.#clock = options.clock;
    this.#path = join(options.directory, options.name ?? STATE_NAME);
  }

  /** Size of what was read or written last. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The last write reached its name, though a step after that may have failed. */
  get published(): boolean {
    return this.#published;
  }

  /** The state, or null when there is no file. */
  async read(): Promise<FoldedState | null> {
    const bytes = await this.#disk.read(this.#path);
    if (bytes === null) return null;
    this.#bytes = bytes.length;
    return decode(bytes, this.#path);
  }

  async write(state: FoldedState): Promise<void> {
    this.#published = false;
    const bytes = encode(state);
    const drafts = { state: this.#draftName(STATE_NAME), lastGood: this.#draftName(LAST_GOOD_NAME) };
    try {
      await writeNewFile(this.#disk, drafts.state, bytes);
      const hasPresent = await this.#copyPresent(drafts.lastGood);
      await this.#moveOver(drafts.state, STATE_NAME);
      this.#published = true;
      this.#bytes = bytes.length;
      // Last, so that the two names never stand for the same bytes: one bad sector must not take both copies.
      if (hasPresent) await this.#moveOver(drafts.lastGood, LAST_GOOD_NAME);
      await this.#disk.syncDirectory(this.#directory);
    } catch (error) {
      // The next start removes drafts at the latest; the reason of the failure matters more.
      for (const draft of [drafts.state, drafts.lastGood]) await this.#disk.remove(draft).catch(() => {});
      throw error;
    }
  }

  /** Gives the present file a second name; false when there is none, and then the last good copy stays as it is. */
  async #copyPresent(draft: string): Promise<boolean> {
    try {
      await this.#disk.link(this.#path, draft);
      return true;
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return false;
      // No hard links here (exFAT).
      const present = await this.#disk.read(this.#path);
      if (present !== null) await writeNewFile(this.#disk, draft, present);
      return present !== null;
    }
  }

  async #moveOver(draft: string, name: string): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#disk.rename(draft, join(this.#directory, name));
        return;
      } catch (error) {
        if (tries === RENAME_TRIES || !HELD_OPEN.has(errorCode(error))) throw error;
        await new Promise<void>((resume) => this.#clock.after(RENAME_FIRST_PAUSE_MS * 2 ** (tries - 1), resume));
      }
    }
  }

  #draftName(name: string): string {
    return join(this.#directory, `${name}${DRAFT_MARK}${this.#disk.uniqueSuffix()}`);
  }
}

function encode(state: FoldedState): Buffer {
  const body = Buffer.from(`${JSON.stringify(state)}\n`);
  const header = { format: FORMAT, version: VERSION, bytes: body.length, crc32: checksum(body) };
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), body]);
}

/** The file is not damaged but from the future: falling back to an older copy would quietly drop what it holds. */
export class NewerStateError extends StateDamagedError {
  constructor(path: string) {
    super({
      path,
      fault: 'was written by a newer version of Graph Relay',
      advice: 'Start that version, or restore a backup that was made before it. Nothing was changed.',
    });
  }
}

function decode(bytes: Buffer, path: string): FoldedState {
  const damaged = (fault: string) => new StateDamagedError({ path, fault, advice: 'Restore it from a backup.' });
  if (bytes.length === 0) throw damaged('is empty');
  if (bytes.every((byte) => byte === 0)) throw damaged('holds only zero bytes');
  const end = bytes.indexOf(NEWLINE);
  const header = parseHeader(bytes.toString('utf8', 0, end === -1 ? bytes.length : end));
  if (header === null) throw damaged('does not begin as a state file does');
  if (header.version > VERSION) throw new NewerStateError(path);
  const body = bytes.subarray(end + 1);
  if (body.length < header.bytes) throw damaged(`ends after ${body.length} of ${header.bytes} bytes`);
  if (body.length > header.bytes) throw damaged(`has ${body.length - header.bytes} bytes too many`);
  if (checksum(body) !== header.crc32) throw damaged('was changed: its checksum is wrong');
  // The checksum says that we wrote this, so its shape is ours.
  return JSON.parse(body.toString());
}

function parseHeader(line: string): { version: number; bytes: number; crc32: string } | null {
  try {
    const { format, version, bytes, crc32 } = JSON.parse(line);
    return format === FORMAT && Number.isSafeInteger(version) ? { version, bytes, crc32 } : null;
  } catch {
    return null;
  }
}
