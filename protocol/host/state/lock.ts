/**
 * The lock on a state folder: one living process, one opener in it.
 *
 * Owns the file `lock`: process id, start of that process, and a token of this holder. Must not wait: a living holder
 * is an error at once, and a dead one's lock is taken over at once, also when its process id is in use again.
 * It sees processes of this machine (and of this process namespace) only: a folder shared between machines or
 * containers is not protected.
 */
import { join } from 'node:path';
import type { Disk } from './disk.ts';
import { errorCode, writeNewFile } from './disk.ts';
import { StateLockedError } from './state-errors.ts';

export interface Lock {
  release(): Promise<void>;
}

interface Claim {
  readonly disk: Disk;
  readonly directory: string;
  /** What our lock file holds. */
  readonly text: string;
}

/** Each try ends in a lock, in an error, or because another opener gave way just then. */
const TRIES = 20;

export async function takeLock(disk: Disk, directory: string): Promise<Lock> {
  const token = disk.uniqueSuffix();
  const text = JSON.stringify({ pid: disk.pid, started: (await disk.processStart(disk.pid)) ?? '', token });
  const path = join(directory, 'lock');
  await acquire({ disk, directory, text }, path);
  return {
    async release() {
      if ((await disk.read(path))?.toString() === text) await disk.remove(path);
    },
  };
}

async function acquire(claim: Claim, path: string): Promise<void> {
  const { disk, directory } = claim;
  let pid = 0;
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (await createLock(claim, path)) return;
    const found = (await disk.read(path))?.toString();
    // Given back in this moment.
    if (found === undefined) continue;
    const holder = parseHolder(found);
    pid = holder?.pid ?? 0;
    if (holder !== null && (await isAlive(disk, holder))) break;
    await removeDead(claim, path, found);
  }
  throw new StateLockedError({ pid, directory, lockPath: path });
}

/**
 * Removes the lock of a dead process. Two openers may both have found it dead, and the slower one must not remove the
 * lock that the quicker one has taken since: so removing needs a lock of its own, and a second look under it.
 */
async function removeDead(claim: Claim, path: string, dead: string): Promise<void> {
  const guard = `${path}.takeover`;
  await acquire(claim, guard);
  try {
    if ((await claim.disk.read(path))?.toString() === dead) await claim.disk.remove(path);
  } finally {
    await claim.disk.remove(guard);
  }
}

/** Creates the lock file with its whole content in one step; false when there is one. */
async function createLock({ disk, text }: Claim, path: string): Promise<boolean> {
  const draft = `${path}.tmp-${disk.uniqueSuffix()}`;
  await writeNewFile(disk, draft, Buffer.from(text));
  try {
    await disk.link(draft, path);
    return true;
  } catch (error) {
    // ENOENT: the present holder has just cleaned up our draft, so there is a holder.
    if (errorCode(error) === 'EEXIST' || errorCode(error) === 'ENOENT') return false;
    return await createWithoutLink(disk, path, text);
  } finally {
    await disk.remove(draft);
  }
}

/** For file systems without hard links (exFAT). An opener that looks between the two steps takes us for dead. */
async function createWithoutLink(disk: Disk, path: string, text: string): Promise<boolean> {
  try {
    await writeNewFile(disk, path, Buffer.from(text));
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

interface Holder {
  readonly pid: number;
  readonly started: string;
}

/** Null for a text that no living holder wrote: what a power cut left of a lock file. */
function parseHolder(text: string): Holder | null {
  try {
    const { pid, started } = JSON.parse(text);
    return Number.isSafeInteger(pid) && pid > 0 && typeof started === 'string' ? { pid, started } : null;
  } catch {
    return null;
  }
}

async function isAlive(disk: Disk, holder: Holder): Promise<boolean> {
  const started = await disk.processStart(holder.pid);
  if (started === null) return false;
  const unknown = started === '' || holder.started === '';
  return unknown || started === holder.started;
}
