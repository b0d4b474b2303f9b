/**
 * Where a result comes from: commit, versions, machine.
 *
 * Owns what is said of them: never a path, a user or a host name.
 */
import { execFile } from 'node:child_process';
import { arch, cpus, platform, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { BenchResult } from './result-format.ts';

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
      cpu: processor?.model.trim() ?? 'unknown',
      cores: cpus().length,
      memory_gib: Math.round((totalmem() / GIB) * 10) / 10,
    },
  };
}

/** Null in an installed package, which has no repository. */
async function commitOf(folder: string): Promise<Made['commit']> {
  const git = async (...args: string[]) => (await promisify(execFile)('git', args, { cwd: folder })).stdout.trim();
  try {
    const [id, changes] = [await git('rev-parse', '--short=12', 'HEAD'), await git('status', '--porcelain')];
    return { id, dirty: changes !== '' };
  } catch {
    return null;
  }
}
