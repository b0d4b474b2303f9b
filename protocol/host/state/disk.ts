/**
 * The disk as the state sees it: few operations, each with a stated promise about a power cut.
 *
 * Owns the port and the one helper that every user of it needs. Must not touch node:fs; the real disk is in
 * `node-disk.ts`, and tests bring one that fails and one that loses what was not synced.
 *
 * Refusals are errors with a `code` as Node names them (ENOSPC, EIO, EPERM, EEXIST, ENOENT).
 */

/**
 * `new` fails with EEXIST when the name is taken; `replace` starts over with an empty file; `extend` opens an existing
 * file as it is, for writing at any position.
 */
export type OpenHow = 'new' | 'replace' | 'extend';

export interface DiskFile {
  /** Hands bytes to the system. Resolves with how many were taken, which may be fewer than were given. */
  write(bytes: Uint8Array, position: number): Promise<number>;
  /** Resolves when content and length would survive a power cut. */
  sync(): Promise<void>;
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
}

export interface Disk {
  /** Makes the directory, readable by its owner only, and its parents. Fine when it exists. */
  makeDirectory(path: string): Promise<void>;
  /** Names in a directory, in no order. */
  list(directory: string): Promise<string[]>;
  /** The whole file, or null when there is none. */
  read(path: string): Promise<Buffer | null>;
  /** Up to `length` bytes from `offset`, or null when there is no file. */
  readPart(path: string, offset: number, length: number): Promise<Buffer | null>;
  /** Bytes of the file, or null when there is none. */
  size(path: string): Promise<number | null>;
  open(path: string, how: OpenHow): Promise<DiskFile>;
  /** A second name for a file. Fails with EEXIST when the name is taken. */
  link(from: string, to: string): Promise<void>;
  /** Moves a name over another one, all or nothing. */
  rename(from: string, to: string): Promise<void>;
  /** Fine when there is no such file; removes read-only ones too. */
  remove(path: string): Promise<void>;
  /** Resolves when names that were made, moved or removed in this directory would survive a power cut. */
  syncDirectory(path: string): Promise<void>;
  /** A part of a file name that nobody else makes, ever. */
  uniqueSuffix(): string;

  /** This process. */
  readonly pid: number;
  /**
   * When that process started, in a form that no later process with the same number has; '' when it is alive and the
   * system does not tell; null when it is not alive.
   */
  processStart(pid: number): Promise<string | null>;
}

/** Writes all of `bytes`, however many calls the system needs for them. */
export async function writeFully(file: DiskFile, bytes: Uint8Array, position: number): Promise<void> {
  let done = await file.write(bytes, position);
  while (done < bytes.length) {
    const taken = await file.write(bytes.subarray(done), position + done);
    // POSIX allows it; without this the loop would spin for ever.
    if (taken === 0) throw Object.assign(new Error('EIO: the disk takes no more bytes, write'), { code: 'EIO' });
    done += taken;
  }
}

/** A new file with this content, synced. The name is durable only after {@link Disk.syncDirectory}. */
export async function writeNewFile(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const file = await disk.open(path, 'new');
  try {
    await writeFully(file, bytes, 0);
    await file.sync();
  } finally {
    await file.close();
  }
}

export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
