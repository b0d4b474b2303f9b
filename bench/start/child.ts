/**
 * A process of ours as a child: started, waited for, listened to, stopped.
 *
 * Its standard output is its log; the lines go into a file as they are, and to whoever wants to look at them.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { EXIT_CODES, ExitError, type ExitName } from '../../protocol/host/exit-codes.ts';
import type { ReadyMessage } from '../../protocol/host/process.ts';
import { siblingModule } from '../../protocol/host/sibling-module.ts';

/** The command itself. */
const COMMAND = fileURLToPath(siblingModule('../../graph-relay', import.meta.url));

export type LogLine = Readonly<Record<string, unknown>> & { readonly event?: string };

export interface Child {
  readonly ready: ReadyMessage;
  /** For messages; its life is up to {@link stop}. */
  readonly process: Pick<ChildProcess, 'once' | 'send'>;
  /** Resolves when it has ended, with the reason for a person. */
  readonly ended: Promise<string>;
  /** Asks it to stop, and waits. */
  stop(): Promise<void>;
}

export async function startChild(options: {
  name: string;
  /** Another program than our command. */
  program?: URL;
  /** Options of the runtime. */
  runtime?: readonly string[];
  args: readonly string[];
  logFile: string;
  env?: Readonly<Record<string, string>>;
  onLine: (line: LogLine) => void;
}): Promise<Child> {
  const { name, args, logFile, runtime = [] } = options;
  const program = options.program === undefined ? COMMAND : fileURLToPath(options.program);
  const child = spawn(process.execPath, [...runtime, program, ...args], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, ...options.env },
    // Ctrl-C reaches the whole process group; the children are stopped by us, in order.
    detached: process.platform !== 'win32',
  });
  const said = collect(child, logFile, options.onLine);
  const ended = new Promise<string>((done) => {
    child.once('exit', (code, signal) => done(signal ? `ended by ${signal}` : `exit code ${code}`));
  });
  const ready = await new Promise<ReadyMessage>((done, failed) => {
    child.once('message', (message) => done(message as ReadyMessage));
    child.once('error', failed);
    void ended.then((reason) => failed(startFailure(name, { child, reason, said: said(), logFile })));
  });
  return {
    ready,
    process: child,
    ended,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Writes the child's log to a file and hands on each line. Returns what it said on standard error. */
function collect(child: ChildProcess, logFile: string, onLine: (line: LogLine) => void): () => string {
  const file = createWriteStream(logFile, { flags: 'a', mode: 0o600 });
  let said = '';
  createInterface({ input: child.stdout! }).on('line', (text) => {
    file.write(`${text}\n`);
    try {
      onLine(JSON.parse(text) as LogLine);
    } catch {
      // Not a line of the log: it is in the file, and that is enough.
    }
  });
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    file.write(text);
    said = (said + text).slice(-8_000);
  });
  child.once('exit', () => file.end());
  return () => said;
}

function startFailure(
  name: string,
  about: { child: ChildProcess; reason: string; said: string; logFile: string },
): ExitError {
  const exit = (Object.keys(EXIT_CODES) as ExitName[]).find((key) => EXIT_CODES[key] === about.child.exitCode);
  const message = about.said.replace(/^graph-relay: /, '').trim() || `its log is ${about.logFile}`;
  return new ExitError(
    exit && exit !== 'ok' ? exit : 'failure',
    `The ${name} did not start (${about.reason}): ${message}`,
  );
}
