/**
 * Processes of ours that lead a group: how the whole group is ended, also when this process ends at once.
 *
 * Owns nothing but what a kill means on each system.
 */
import type { ChildProcess } from 'node:child_process';

/** Sends the signal to the program and all that it started. */
export function killGroup(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined) return;
  try {
    // Windows has no process groups; there only the program itself can be ended.
    if (process.platform === 'win32') child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // Nobody of the group is left.
  }
}

const living = new Set<ChildProcess>();
let watching = false;

/**
 * Ends the group when this process exits, whatever for; nothing can be awaited then. Gives back how to let it go. A
 * process that is killed does not get here: then its children see the end of their input.
 */
export function endAtExit(child: ChildProcess): () => void {
  if (!watching) {
    watching = true;
    process.once('exit', () => {
      for (const each of living) killGroup(each, 'SIGKILL');
    });
  }
  living.add(child);
  return () => void living.delete(child);
}
