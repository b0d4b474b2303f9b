/** What commands that run a Graph in their own process have in common: what a terminal gets, and Ctrl-C. */
import { EXIT_CODES } from '../../../protocol/host/exit-codes.ts';
import { plainLines } from '../../../protocol/host/terminal.ts';
import type { RunningGraph } from '../../ports.ts';

/** What agents wrote must not steer the terminal; a file or a pipe gets it as it is. */
export function onScreen(text: string): string {
  return process.stdout.isTTY ? plainLines(text) : text;
}

/** Once asks the run to end; twice ends the process, whatever the run's agents do. */
export function cancelOnInterrupt(running: RunningGraph): void {
  let asked = false;
  const stop = () => {
    if (asked) process.exit(EXIT_CODES.interrupted);
    asked = true;
    running.cancel('The run was stopped by hand.');
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
}
