/**
 * Where a result comes from: commit, versions, machine, and what else the machine was doing.
 *
 * Owns what is said of them: never a path, a user or a host name.
 */
import { execFile } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { arch, cpus, loadavg, platform, release, tmpdir, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { BenchResult, Surroundings } from './result-format.ts';

type Made = BenchResult['made'];

const HERE = fileURLToPath(new URL('.', import.meta.url));
const GIB = 2 ** 30;

export async function provenance(): Promise<Made> {
  const [processor] = cpus();
  return {
    commit: await commitOf(HERE),
    versions: { node: process.versions.node, v8: process.versions.v8 },
    machine: {
      platform: `${platform()} ${arch()}`,
      kernel: release(),
      cpu: processor?.model.trim() ?? 'unknown',
      cores: cpus().length,
      memory_gib: Math.round((totalmem() / GIB) * 10) / 10,
    },
  };
}

/** Null in an installed package, which may lie in somebody else's repository, and where there is none. */
async function commitOf(folder: string): Promise<Made['commit']> {
  if (!import.meta.url.endsWith('.ts')) return null;
  const git = async (...args: string[]) => (await promisify(execFile)('git', args, { cwd: folder })).stdout.trim();
  try {
    const [id, changes] = [await git('rev-parse', '--short=12', 'HEAD'), await git('status', '--porcelain', '-uno')];
    return { id, dirty: changes !== '' };
  } catch {
    return null;
  }
}

const TMPFS = 0x01021994;

/** Call it before measuring: what real time is worth depends on it. */
export async function surroundings(): Promise<Surroundings> {
  return {
    load_before: Math.round((loadavg()[0] ?? 0) * 100) / 100,
    temporary_files_in_memory: (await statfs(tmpdir())).type === TMPFS,
  };
}

/** A sentence for whoever reads a figure of real time. */
export function surroundingsLines({ load_before, temporary_files_in_memory }: Surroundings): string[] {
  const memory =
    'Temporary files are in memory here: "durable" costs nothing and means nothing. Set TMPDIR to a folder on disk.';
  return [
    `Processes that wanted a core in the minute before: ${load_before}.`,
    ...(temporary_files_in_memory ? [memory] : []),
  ];
}
