/**
 * Hears from systemd-logind that this machine is about to sleep, and that it is awake again.
 *
 * Owns the program that listens on the system's bus, and the reading of what it prints. Where there is no such program,
 * bus or permission, nobody listens, one line of the log says so, and all else goes on: the desktop notices a sleep when
 * it is over, and the owner may say it by a hook.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Log } from '../protocol/ports.ts';
import { cleanText } from '../protocol/text.ts';

export interface SleepWatchOptions {
  readonly log: Log;
  readonly onSleep: () => void;
  readonly onWake: () => void;
  /** Prints one line for each signal. Null where no system has one. */
  readonly command?: readonly string[] | null;
}

/** `PrepareForSleep(true)` comes before a sleep, `PrepareForSleep(false)` after it. */
const GDBUS = [
  ...['gdbus', 'monitor', '--system', '--dest', 'org.freedesktop.login1'],
  ...['--object-path', '/org/freedesktop/login1'],
];
const COMMAND = process.platform === 'linux' ? GDBUS : null;
const SIGNAL = /^\/org\/freedesktop\/login1: org\.freedesktop\.login1\.Manager\.PrepareForSleep \((true|false),\)\s*$/;

/** The end of what the program complained about. */
const COMPLAINT_CHARS = 300;

/** Returns how to stop. */
export function watchSleep(options: SleepWatchOptions): () => void {
  const { log, onSleep, onWake, command = COMMAND } = options;
  if (command === null) return () => {};
  let isOver = false;
  let complaint = '';
  const end = (reason: string) => {
    if (isOver) return;
    isOver = true;
    log.info('sleep.not-watched', { reason: cleanText(complaint.trim() || reason, COMPLAINT_CHARS) });
  };
  const child = started(command, end);
  if (child === null) return () => {};
  let isAsleep = false;
  createInterface({ input: child.stdout }).on('line', (line) => {
    const word = SIGNAL.exec(line)?.[1];
    if (word === undefined || isOver) return;
    // The same word twice is one.
    const sleeps = word === 'true';
    if (sleeps === isAsleep) return;
    isAsleep = sleeps;
    if (sleeps) onSleep();
    else onWake();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-COMPLAINT_CHARS);
  });
  child.once('close', (code, signal) => end(`${command[0]} has ended (${code ?? signal})`));
  return () => {
    isOver = true;
    child.kill();
  };
}

type Listener = ChildProcessByStdio<null, Readable, Readable>;

/**
 * The program, running; null when the system or its rules do not let it start. A desktop that is killed leaves it behind, and it ends when
 * it has something to say to nobody.
 */
function started([program = '', ...args]: readonly string[], end: (reason: string) => void): Listener | null {
  try {
    // In any language: the names and values of a signal are the same in all.
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    child.once('error', (error) => end(error.message));
    return child;
  } catch (error) {
    end(error instanceof Error ? error.message : String(error));
    return null;
  }
}
