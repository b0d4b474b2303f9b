/**
 * A disk in memory that tells what was handed over from what was synced, for power cuts.
 *
 * After {@link MemoryDisk.cut} there is what was synced, and of the rest what chance leaves: each 512-byte sector of a
 * write may have arrived or not, later ones without earlier ones; of the changes of names a first part, since file
 * systems keep their order. Everything lives in one flat space of paths; directories are only remembered as made.
 */
import { basename, dirname } from 'node:path';
import type { Disk, DiskFile, OpenHow } from '../../protocol/host/state/disk.ts';

const SECTOR = 512;

type Edit = { readonly position: number; readonly bytes: Buffer } | { readonly length: number };

class Inode {
  content: Buffer;
  synced: Buffer;
  /** What was done since the last sync. */
  edits: Edit[] = [];

  constructor(content: Buffer = Buffer.alloc(0)) {
    this.content = content;
    this.synced = content;
  }

  apply(edit: Edit): void {
    this.content = edited(this.content, edit);
    this.edits.push(edit);
  }

  sync(): void {
    this.synced = this.content;
    this.edits = [];
  }

  /** What may be found after a power cut. */
  remains(random: () => number): Buffer {
    let content = this.synced;
    for (const edit of this.edits) {
      for (const part of sectors(edit)) if (random() < 0.5) content = edited(content, part);
    }
    return content;
  }
}

function edited(content: Buffer, edit: Edit): Buffer {
  const end = 'length' in edit ? edit.length : Math.max(content.length, edit.position + edit.bytes.length);
  const result = Buffer.alloc(end);
  content.copy(result);
  if ('bytes' in edit) edit.bytes.copy(result, edit.position);
  return result;
}

function sectors(edit: Edit): Edit[] {
  if ('length' in edit) return [edit];
  const parts: Edit[] = [];
  for (let at = 0; at < edit.bytes.length; ) {
    const end = Math.min(edit.bytes.length, at + SECTOR - ((edit.position + at) % SECTOR));
    parts.push({ position: edit.position + at, bytes: edit.bytes.subarray(at, end) });
    at = end;
  }
  return parts;
}

type NameChange = (names: Map<string, Inode>) => void;

export class MemoryDisk implements Disk {
  readonly pid = 1;
  #names = new Map<string, Inode>();
  #syncedNames = new Map<string, Inode>();
  #nameChanges: NameChange[] = [];
  readonly #boot: number;
  #suffix = 0;

  constructor(boot = 1) {
    this.#boot = boot;
  }

  /** The disk after a power cut, in a machine whose processes are all new. The present one is of no more use. */
  cut(random: () => number): MemoryDisk {
    const after = new MemoryDisk(this.#boot + 1);
    const names = new Map(this.#syncedNames);
    const kept = Math.floor(random() * (this.#nameChanges.length + 1));
    for (const change of this.#nameChanges.slice(0, kept)) change(names);
    const inodes = new Map<Inode, Inode>();
    for (const [path, inode] of names) {
      const copy = inodes.get(inode) ?? new Inode(inode.remains(random));
      inodes.set(inode, copy);
      after.#names.set(path, copy);
      after.#syncedNames.set(path, copy);
    }
    return after;
  }

  /** The disk after a kill: all that was handed over is there. */
  kill(): MemoryDisk {
    for (const inode of this.#names.values()) inode.sync();
    this.#syncedNames = new Map(this.#names);
    this.#nameChanges = [];
    return this.cut(() => 0);
  }

  async makeDirectory(): Promise<void> {}

  async list(directory: string): Promise<string[]> {
    return [...this.#names.keys()].filter((path) => dirname(path) === directory).map((path) => basename(path));
  }

  async read(path: string): Promise<Buffer | null> {
    const inode = this.#names.get(path);
    return inode === undefined ? null : Buffer.from(inode.content);
  }

  async readPart(path: string, offset: number, length: number): Promise<Buffer | null> {
    return (await this.read(path))?.subarray(offset, offset + length) ?? null;
  }

  async size(path: string): Promise<number | null> {
    return (await this.read(path))?.length ?? null;
  }

  async open(path: string, how: OpenHow): Promise<DiskFile> {
    const present = this.#names.get(path);
    if (how === 'new' && present !== undefined) throw refusal('EEXIST', path);
    if (how === 'extend' && present === undefined) throw refusal('ENOENT', path);
    const inode = present ?? new Inode();
    if (present === undefined) this.#change((names) => names.set(path, inode));
    if (how === 'replace' && present !== undefined) inode.apply({ length: 0 });
    return {
      async write(bytes, position) {
        inode.apply({ position, bytes: Buffer.from(bytes) });
        return bytes.length;
      },
      async sync() {
        inode.sync();
      },
      async truncate(length) {
        inode.apply({ length });
      },
      async close() {},
    };
  }

  async link(from: string, to: string): Promise<void> {
    const inode = this.#names.get(from);
    if (inode === undefined) throw refusal('ENOENT', from);
    if (this.#names.has(to)) throw refusal('EEXIST', to);
    this.#change((names) => names.set(to, inode));
  }

  async rename(from: string, to: string): Promise<void> {
    const inode = this.#names.get(from);
    if (inode === undefined) throw refusal('ENOENT', from);
    this.#change((names) => {
      names.set(to, inode);
      names.delete(from);
    });
  }

  async remove(path: string): Promise<void> {
    this.#change((names) => names.delete(path));
  }

  async syncDirectory(): Promise<void> {
    this.#syncedNames = new Map(this.#names);
    this.#nameChanges = [];
  }

  uniqueSuffix(): string {
    this.#suffix += 1;
    return `${this.#boot}-${this.#suffix}`;
  }

  async processStart(pid: number): Promise<string | null> {
    return pid === this.pid ? `boot-${this.#boot}` : null;
  }

  #change(change: NameChange): void {
    change(this.#names);
    this.#nameChanges.push(change);
  }
}

function refusal(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}
