/**
 * What the tests of the command line share: a program on a real terminal.
 *
 * Owns that the program is gone after its test. The terminal is made by `script` (util-linux), in a size of its own.
 */
import { spawn } from 'node:child_process';
import type { Test } from 'tap';

export interface OnTerminal {
  /** All that was written to the terminal so far, as it was written. */
  screen(): string;
  /** Presses keys. */
  type(keys: string): void;
  readonly ended: Promise<{ readonly code: number | null; readonly screen: string }>;
}

export interface TerminalOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cols?: number;
  readonly rows?: number;
}

export function onTerminal(t: Test, program: readonly string[], options: TerminalOptions = {}): OnTerminal {
  const { env = process.env, cols = 80, rows = 24 } = options;
  const quoted = program.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  const command = `stty cols ${cols} rows ${rows}; exec ${quoted}`;
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...env, SHELL: '/bin/sh' },
    detached: true,
  });
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
  });
  const ended = new Promise<{ code: number | null; screen: string }>((done, failed) => {
    child.once('error', failed);
    child.once('close', (code) => done({ code, screen }));
  });
  t.teardown(() => {
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  });
  return { screen: () => screen, type: (keys) => void child.stdin.write(keys), ended };
}
