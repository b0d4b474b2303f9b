/**
 * What the tests of the command line share: a program on a real terminal.
 *
 * Owns that the program is gone after its test. `script` (util-linux) makes a terminal and gives what was written to it;
 * `tmux` is one, and gives what stands on it.
 */
import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
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

/** Why there is no such terminal; false when there is. */
export const noTmux: string | false = isThere('tmux') ? false : 'tmux is not there';

/** A terminal with a size, in which a shell runs what it is given. It goes when that has ended. */
export class Tmux {
  readonly #server = `graph-relay-${randomUUID()}`;

  constructor(t: Test, command: string, options: TerminalOptions = {}) {
    const { env = process.env, cols = 80, rows = 24 } = options;
    t.teardown(() => this.#tmux(['kill-server']));
    const start = ['new-session', '-d', '-s', 'w', '-x', `${cols}`, '-y', `${rows}`, command];
    this.#tmux(['-f', '/dev/null', ...start], { ...env, TMUX: '' });
  }

  /** What stands there now, line by line, without blanks at the end of a line. */
  picture(): string[] {
    return this.#tmux(['capture-pane', '-p', '-t', 'w']).replace(/\n$/, '').split('\n');
  }

  type(keys: string): void {
    this.#tmux(['send-keys', '-t', 'w', '-l', keys]);
  }

  /** By tmux's name for it, such as `C-c`. */
  press(key: string): void {
    this.#tmux(['send-keys', '-t', 'w', key]);
  }

  resize(cols: number, rows: number): void {
    this.#tmux(['resize-window', '-t', 'w', '-x', `${cols}`, '-y', `${rows}`]);
  }

  /** One of tmux's variables of the terminal. */
  state(name: string): string {
    return this.#tmux(['display-message', '-p', '-t', 'w', `#{${name}}`]).trim();
  }

  #tmux(args: readonly string[], env: TerminalOptions['env'] = process.env): string {
    return execFileSync('tmux', ['-L', this.#server, ...args], { env: env as NodeJS.ProcessEnv, encoding: 'utf8' });
  }
}

export function isThere(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`]);
    return true;
  } catch {
    return false;
  }
}
