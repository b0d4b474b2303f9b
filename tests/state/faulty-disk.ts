/**
 * A disk in front of another one that refuses, waits or takes fewer bytes, as a test wants it.
 */
import type { Disk, DiskFile } from '../../protocol/host/state/disk.ts';

export type Operation =
  | 'list'
  | 'read'
  | 'open'
  | 'write'
  | 'sync'
  | 'truncate'
  | 'link'
  | 'rename'
  | 'remove'
  | 'syncDirectory';

export interface Faults {
  /** Called before each operation; may throw, or return a promise that the operation waits for. */
  before: (operation: Operation, path: string) => unknown;
  /** How many of so many bytes one write takes; null takes all. */
  shortWrite: ((bytes: number) => number) | null;
}

export function noFaults(): Faults {
  return { before: () => undefined, shortWrite: null };
}

export function refusal(code: string): Error {
  return Object.assign(new Error(`${code}: refused by the test`), { code });
}

export function faultyDisk(disk: Disk, faults: Faults): Disk {
  const guarded = async <T>(operation: Operation, path: string, run: () => Promise<T>): Promise<T> => {
    await faults.before(operation, path);
    return run();
  };
  return {
    pid: disk.pid,
    makeDirectory: (path) => disk.makeDirectory(path),
    uniqueSuffix: () => disk.uniqueSuffix(),
    processStart: (pid) => disk.processStart(pid),
    list: (path) => guarded('list', path, () => disk.list(path)),
    read: (path) => guarded('read', path, () => disk.read(path)),
    readPart: (path, offset, length) => guarded('read', path, () => disk.readPart(path, offset, length)),
    size: (path) => guarded('read', path, () => disk.size(path)),
    link: (from, to) => guarded('link', to, () => disk.link(from, to)),
    rename: (from, to) => guarded('rename', to, () => disk.rename(from, to)),
    remove: (path) => guarded('remove', path, () => disk.remove(path)),
    syncDirectory: (path) => guarded('syncDirectory', path, () => disk.syncDirectory(path)),
    open: (path, how) =>
      guarded('open', path, async (): Promise<DiskFile> => {
        const file = await disk.open(path, how);
        return {
          write: (bytes, position) =>
            guarded('write', path, () => file.write(shortened(bytes, faults.shortWrite), position)),
          sync: () => guarded('sync', path, () => file.sync()),
          truncate: (length) => guarded('truncate', path, () => file.truncate(length)),
          close: () => file.close(),
        };
      }),
  };
}

function shortened(bytes: Uint8Array, shortWrite: Faults['shortWrite']): Uint8Array {
  return shortWrite === null ? bytes : bytes.subarray(0, Math.min(bytes.length, shortWrite(bytes.length)));
}
