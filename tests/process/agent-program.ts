/**
 * Agents as programs: each one leaves its process id in a file, so runs can be counted and watched.
 *
 * Owns that none of them outlives its test.
 */
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';

export interface AgentProgram {
  /** For `--agent-command`. */
  readonly command: string;
  /** The process ids of all agents so far, in order. */
  pids(): Promise<number[]>;
}

/** `rest` is what it does after it has left its mark, as shell lines. */
export async function agentProgram(t: Test, data: string, rest: string): Promise<AgentProgram> {
  const marks = join(data, 'marks');
  const command = join(data, 'agent.sh');
  await writeFile(command, `#!/bin/sh\ncat >/dev/null\necho $$ >> ${marks}\n${rest}\n`);
  await chmod(command, 0o700);
  const pids = async () => (await readFile(marks, 'utf8').catch(() => '')).split('\n').filter(Boolean).map(Number);
  t.teardown(async () => {
    for (const pid of await pids()) killQuietly(pid);
  });
  return { command, pids };
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
