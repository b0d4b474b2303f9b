/**
 * A tool server that is a program of this machine: its process, and the messages that go in and out of it by lines.
 *
 * Owns the process with all that it starts: they are one group, and end together. (The official client's own transport
 * ends the one process that it started, which for `npx` is not the server, and copies all that it has with each chunk of a
 * long message.) Must not know what the messages mean.
 */
import type { ChildProcess } from 'node:child_process';
import {
  deserializeMessage,
  type JSONRPCMessage,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import spawn from 'cross-spawn';
import type { Clock } from '../../protocol/ports.ts';
import { pause } from '../../protocol/waiting.ts';
import { endAtExit, killGroup } from './process-groups.ts';
import type { ProcessServer } from './tool-config.ts';
import type { ToolLimits } from './tool-limits.ts';

export interface ServerProcessOptions {
  readonly config: ProcessServer;
  readonly clock: Clock;
  readonly limits: Pick<ToolLimits, 'messageBytes' | 'stopGraceMs'>;
  /** Called with what it says on standard error, in pieces. */
  readonly onSaid: (text: string) => void;
}

/** After the program's own end, what it left behind may say a last word for this long. */
const LEFTOVER_MS = 500;

const NEWLINE = 0x0a;

export class ServerProcess implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** How it ended, for a person; null while it runs. */
  ending: string | null = null;
  readonly #options: ServerProcessOptions;
  readonly #gone = Promise.withResolvers<void>();
  #child: ChildProcess | null = null;
  #line: Buffer[] = [];
  #lineBytes = 0;
  /** Why we end it; null when it ends by itself. */
  #reason: string | null = null;
  #closing: Promise<void> | null = null;

  constructor(options: ServerProcessOptions) {
    this.#options = options;
  }

  /** With {@link stderr}, how the official client knows that there is a process at the other end. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  get stderr(): null {
    return null;
  }

  start(): Promise<void> {
    const { command, args, env, cwd } = this.#options.config;
    const child = spawn(command, [...args], {
      env: { ...getDefaultEnvironment(), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      windowsHide: true,
      ...(cwd === null ? {} : { cwd }),
    });
    this.#child = child;
    const released = endAtExit(child);
    child.stdout?.on('data', (chunk: Buffer) => this.#take(chunk));
    child.stderr?.setEncoding('utf8').on('data', this.#options.onSaid);
    // What cannot be written or read because it has ended is told by its end.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on('error', () => {});
    child.once('exit', () => void this.#endLeftovers(child));
    child.once('close', (code, signal) => {
      released();
      killGroup(child, 'SIGKILL');
      this.ending ??= this.#reason ?? (code === null ? `was ended by ${signal}` : `ended with exit code ${code}`);
      this.#gone.resolve();
      this.onclose?.();
    });
    return new Promise((started, failed) => {
      child.once('spawn', started);
      child.on('error', (error) => {
        if (child.pid !== undefined) return;
        released();
        this.ending = `could not be started (${(error as NodeJS.ErrnoException).code ?? error.message})`;
        this.#gone.resolve();
        failed(error);
      });
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (!stdin?.writable) return Promise.reject(new Error(`it ${this.ending ?? 'takes nothing any more'}`));
    return new Promise((sent, failed) => {
      stdin.write(serializeMessage(message), (error) => (error ? failed(error) : sent()));
    });
  }

  /** Ends it, the quiet way first. Resolves when it has ended, and all that it started was ended too. */
  close(): Promise<void> {
    this.#closing ??= this.#end('was ended by the desktop');
    return this.#closing;
  }

  async #end(reason: string): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    this.#reason ??= reason;
    child.stdin?.end();
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (await this.#isGoneWithin(this.#options.limits.stopGraceMs)) return;
      killGroup(child, signal);
    }
    await this.#gone.promise;
  }

  async #isGoneWithin(ms: number): Promise<boolean> {
    const over = new AbortController();
    const gone = this.#gone.promise.then(() => true);
    const late = pause(this.#options.clock, ms, over.signal).then(() => false);
    const isGone = await Promise.race([gone, late]);
    over.abort();
    return isGone;
  }

  /** What the program left behind goes with it, and cannot hold its output open for ever. */
  async #endLeftovers(child: ChildProcess): Promise<void> {
    if (await this.#isGoneWithin(LEFTOVER_MS)) return;
    killGroup(child, 'SIGKILL');
    for (const stream of [child.stdout, child.stderr]) stream?.destroy();
  }

  #take(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE)) {
      const line = Buffer.concat([...this.#line, rest.subarray(0, end)]);
      rest = rest.subarray(end + 1);
      this.#line = [];
      this.#lineBytes = 0;
      this.#read(line);
    }
    if (rest.length === 0) return;
    this.#line.push(rest);
    this.#lineBytes += rest.length;
    const { messageBytes } = this.#options.limits;
    if (this.#lineBytes <= messageBytes) return;
    this.#line = [];
    this.#lineBytes = 0;
    this.#child?.stdout?.destroy();
    this.#closing ??= this.#end(`sent a message of more than ${messageBytes} bytes, and was ended for it`);
  }

  /** Lines that are no messages are words for people, which have no place here and do no harm. */
  #read(line: Buffer): void {
    let message: JSONRPCMessage;
    try {
      message = deserializeMessage(line.toString());
    } catch {
      return;
    }
    this.onmessage?.(message);
  }
}
