/**
 * What the tests with real processes share: folders, processes, and waiting for what they do.
 *
 * Owns that nothing is left behind: a process or folder that is made here is gone after its test, also when it failed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import type { ReadyMessage } from '../../protocol/host/process.ts';
import { systemClock } from '../../protocol/host/system-ports.ts';

export const COMMAND = fileURLToPath(new URL('../../graph-relay.ts', import.meta.url));

/** Nothing here is a limit on speed: what takes this long on the slowest machine hangs. */
const DEADLINE_MS = 60_000;
const POLL_MS = 15;
const FILE_TIMEOUT_MS = 10 * 60_000;

/** For processes that are killed: they cannot tell what they covered, and start quicker without tap's hooks. */
export const LIGHT: Readonly<Record<string, string>> = { NODE_OPTIONS: '' };

export type LogLine = Readonly<Record<string, unknown>> & { readonly event?: string };

export interface Ended {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Finished extends Ended {
  readonly stdout: string;
  readonly stderr: string;
}

export interface LaunchOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Program and its first arguments. Default: Node with our command. */
  readonly program?: readonly string[];
  /** Set to a file descriptor to send standard output there; it is then not read here. */
  readonly stdout?: number;
}

/** A process that is running, and what it has said so far. */
export class Running {
  readonly ended: Promise<Ended>;
  readonly ready: Promise<ReadyMessage>;
  /** Lines of standard output that are JSON objects. */
  readonly log: LogLine[] = [];
  stdout = '';
  stderr = '';
  readonly #child: ChildProcess;
  #isOver = false;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.ended = new Promise((done) => {
      child.once('close', (code, signal) => {
        this.#isOver = true;
        done({ code, signal });
      });
    });
    const ready = Promise.withResolvers<ReadyMessage>();
    child.once('message', (message) => ready.resolve(message as ReadyMessage));
    child.once('error', ready.reject);
    void this.ended.then(({ code, signal }) => {
      ready.reject(new Error(`ended before it was ready (${code ?? signal}): ${this.stderr}${this.stdout}`));
    });
    ready.promise.catch(() => {});
    this.ready = ready.promise;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    if (child.stdout) createInterface({ input: child.stdout }).on('line', (line) => this.#heard(line));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Sends the signal and waits for the end. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    this.#child.kill(signal);
    return within(this.ended, `process ${this.pid} to end after ${signal}`);
  }

  /** Resolves with the first line of this event, past or to come. */
  line(event: string): Promise<LogLine> {
    return until(`log line ${event}`, () => {
      const found = this.log.find((line) => line.event === event);
      if (found === undefined && this.#isOver) throw new Error(`ended without ${event}: ${this.stderr}${this.stdout}`);
      return found;
    });
  }

  #heard(line: string): void {
    this.stdout += `${line}\n`;
    try {
      this.log.push(JSON.parse(line) as LogLine);
    } catch {
      // Words for people.
    }
  }
}

/**
 * For the top of each file: two tests at once, since most of the time goes into starting processes, each of which keeps
 * one core busy; and no time limit but one that tells a hang from a busy machine.
 */
export function expectProcesses(file: Pick<Test, 'jobs' | 'setTimeout'>): void {
  file.jobs = 2;
  file.setTimeout(FILE_TIMEOUT_MS);
}

/** Starts our command (or another program); it is killed after the test when it still runs. */
export function launch(t: Test, args: readonly string[], options: LaunchOptions = {}): Running {
  const [program = '', ...first] = options.program ?? [process.execPath, COMMAND];
  const child = spawn(program, [...first, ...args], {
    stdio: ['ignore', options.stdout ?? 'pipe', 'pipe', 'ipc'],
    env: { ...cleanEnvironment(), ...options.env },
  });
  const running = new Running(child);
  t.teardown(() => running.end('SIGKILL'));
  return running;
}

/** Runs our command to its end. */
export async function run(t: Test, args: readonly string[], options: LaunchOptions = {}): Promise<Finished> {
  const running = launch(t, args, options);
  const ended = await within(running.ended, `graph-relay ${args.join(' ')}`);
  return { ...ended, stdout: running.stdout, stderr: running.stderr };
}

/** Ours, without what would reach the children from the shell of whoever runs the tests. */
export function cleanEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GRAPH_RELAY_')));
}

/** A new folder outside the repository, removed after the test. Its path is short: Unix sockets need that. */
export async function tempFolder(t: Test): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'gr-')));
  t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** Resolves with the first value of `check` that is neither undefined nor false. */
export async function until<T>(
  what: string,
  check: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  const deadline = systemClock.monotonic() + DEADLINE_MS;
  for (;;) {
    const value = await check();
    if (value !== undefined && value !== false) return value;
    if (systemClock.monotonic() > deadline) throw new Error(`waited in vain for ${what}`);
    await new Promise<void>((done) => systemClock.after(POLL_MS, done));
  }
}

/** The promise's value, or an error that names what did not happen. */
export async function within<T>(promise: Promise<T>, what: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = systemClock.after(DEADLINE_MS, () => late.reject(new Error(`waited in vain for ${what}`)));
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    timer.cancel();
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
