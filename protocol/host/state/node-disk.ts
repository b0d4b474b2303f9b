/**
 * The real disk: the {@link Disk} port on node:fs.
 *
 * Owns every touch of the file system, of process ids and of chance that the state needs; knows nothing of what the
 * files mean. Callbacks rather than node:fs/promises for write and sync: a quarter less time per commit.
 */
import { randomBytes } from 'node:crypto';
import * as fs from 'node:fs';
import * as files from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Disk, DiskFile, OpenHow } from './disk.ts';
import { errorCode } from './disk.ts';

const FLAGS = { new: 'wx', replace: 'w', extend: 'r+' } as const satisfies Record<OpenHow, string>;

/**
 * Writes up to this size are done at once on the calling thread. It is a copy into the page cache (17 µs at the
 * median, 1 ms at worst beside a process that syncs without pause); a trip to the thread pool costs more than that
 * and its waits are longer. Larger: long copies hold up the event loop. Smaller: commits of results get slower.
 */
const WRITE_AT_ONCE_BYTES = 64 * 1024;

export const nodeDisk: Disk = {
  makeDirectory,
  list: (directory) => files.readdir(directory),
  read: (path) => nullWhenMissing(files.readFile(path)),
  readPart,
  size: async (path) => (await nullWhenMissing(files.stat(path)))?.size ?? null,
  open: async (path, how) => nodeFile(await openDescriptor(path, FLAGS[how])),
  link: (from, to) => files.link(from, to),
  rename: (from, to) => files.rename(from, to),
  remove,
  syncDirectory,
  uniqueSuffix: () => `${process.pid}-${randomBytes(6).toString('hex')}`,
  pid: process.pid,
  processStart,
};

function nodeFile(descriptor: number): DiskFile {
  return {
    async write(bytes, position) {
      if (bytes.length <= WRITE_AT_ONCE_BYTES) return fs.writeSync(descriptor, bytes, 0, bytes.length, position);
      return new Promise((resolve, reject) => {
        fs.write(descriptor, bytes, 0, bytes.length, position, (error, taken) =>
          error ? reject(error) : resolve(taken),
        );
      });
    },
    sync: () => new Promise((done, reject) => fs.fdatasync(descriptor, (error) => (error ? reject(error) : done()))),
    truncate: (length) =>
      new Promise((resolve, reject) =>
        fs.ftruncate(descriptor, length, (error) => (error ? reject(error) : resolve())),
      ),
    close: () => new Promise((done, reject) => fs.close(descriptor, (error) => (error ? reject(error) : done()))),
  };
}

function openDescriptor(path: string, flags: string): Promise<number> {
  return new Promise((done, reject) => {
    fs.open(path, flags, 0o600, (error, descriptor) => (error ? reject(error) : done(descriptor)));
  });
}

async function makeDirectory(path: string): Promise<void> {
  const whole = resolve(path);
  const firstMade = await files.mkdir(whole, { recursive: true, mode: 0o700 });
  if (firstMade === undefined) return;
  // Each new directory is a name in its parent, and that name must survive a power cut too.
  for (let made = whole; made.length >= firstMade.length; made = dirname(made)) await syncDirectory(dirname(made));
}

async function readPart(path: string, offset: number, length: number): Promise<Buffer | null> {
  const handle = await nullWhenMissing(files.open(path, 'r'));
  if (handle === null) return null;
  try {
    const bytes = Buffer.alloc(length);
    let done = 0;
    while (done < length) {
      const { bytesRead } = await handle.read(bytes, done, length - done, offset + done);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    return bytes.subarray(0, done);
  } finally {
    await handle.close();
  }
}

async function remove(path: string): Promise<void> {
  try {
    await files.rm(path, { force: true });
  } catch (error) {
    // Windows refuses to remove a read-only file.
    if (errorCode(error) !== 'EPERM' && errorCode(error) !== 'EACCES') throw error;
    await files.chmod(path, 0o600);
    await files.rm(path, { force: true });
  }
}

async function syncDirectory(path: string): Promise<void> {
  // Windows cannot open a directory; NTFS keeps its names in a journal of its own.
  if (process.platform === 'win32') return;
  const handle = await files.open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function processStart(pid: number): Promise<string | null> {
  if (process.platform === 'linux') {
    const stat = await files.readFile(`/proc/${pid}/stat`, 'latin1').catch(() => null);
    if (stat !== null) return linuxStart(stat);
  }
  if (!isAlive(pid)) return null;
  // Elsewhere only our own start is known. That is enough to see that a predecessor had our number.
  return pid === process.pid ? String(performance.timeOrigin) : '';
}

async function linuxStart(stat: string): Promise<string | null> {
  // The second field is the program's name in brackets and may hold anything, brackets and spaces too.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // A killed process that its parent did not collect yet.
  if (fields[0] === 'Z' || fields[0] === 'X') return null;
  // Ticks since the boot: two boots may repeat them, so the boot is part of the answer.
  const boot = await files.readFile('/proc/sys/kernel/random/boot_id', 'latin1').catch(() => '');
  return `${boot.trim()}/${fields[19] ?? ''}`;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

async function nullWhenMissing<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}
