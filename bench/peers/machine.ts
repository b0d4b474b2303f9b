/** What a figure cannot be read without: the machine, what runs it, and the commit that was measured. */
import { execFile } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { cpus, loadavg, platform, release, tmpdir } from 'node:os';
import { promisify } from 'node:util';

export interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly kernel: string;
  readonly node: string;
  /** Work that wanted a core in the minute before, all processes of the machine. */
  readonly load_before: number;
  /** True: temporary files are in memory, so "durable" costs nothing here and means nothing. */
  readonly temporary_files_in_memory: boolean;
}

const TMPFS = 0x01021994;

export async function machineHere(): Promise<Machine> {
  const cores = cpus();
  return {
    cores: cores.length,
    cpu: cores[0]?.model.trim() ?? 'unknown',
    kernel: `${platform()} ${release()}`,
    node: process.version,
    load_before: Math.round((loadavg()[0] ?? 0) * 100) / 100,
    temporary_files_in_memory: (await statfs(tmpdir())).type === TMPFS,
  };
}

/** Null in the published package, which may lie in somebody else's repository; with a mark when files differ. */
export async function commitHere(): Promise<string | null> {
  if (!import.meta.url.endsWith('.ts')) return null;
  const git = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)('git', args, { cwd: new URL('.', import.meta.url) });
    return stdout.trim();
  };
  try {
    const commit = await git('rev-parse', 'HEAD');
    return (await git('status', '--porcelain', '--untracked-files=no')) === '' ? commit : `${commit}-changed`;
  } catch {
    return null;
  }
}
