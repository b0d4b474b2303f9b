/**
 * Tool servers that are a script, on a virtual clock: what they are asked is written down, and how they answer is the test's.
 */
import type { Test } from 'tap';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import type { ConnectOptions, McpCall, McpConnection } from '../../desktop-agent/tools/mcp-connection.ts';
import { until } from '../process/support.ts';
import { type BenchOptions, createBench } from './support.ts';

/** A server of the script: what it was asked, and how it answers. */
export class Scripted implements McpConnection {
  readonly calls: McpCall[] = [];
  readonly answers: PromiseWithResolvers<{ content: { type: 'text'; text: string }[] }>[] = [];
  looks = 0;
  closed = false;
  /** Whether it answers anything at all. */
  lives = true;
  listed = ['read'];
  readonly options: ConnectOptions;
  #ending: string | null = null;
  #listeners: (() => void)[] = [];

  constructor(options: ConnectOptions) {
    this.options = options;
  }

  async tools() {
    return this.listed.map((name) => ({ name, description: '' }));
  }

  signOfLife(signal: AbortSignal): Promise<void> {
    this.looks += 1;
    if (this.lives) return Promise.resolve();
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
  }

  call(call: McpCall) {
    this.calls.push(call);
    const answer = Promise.withResolvers<{ content: { type: 'text'; text: string }[] }>();
    this.answers.push(answer);
    call.signal.addEventListener('abort', () => answer.reject(new Error('aborted')));
    return answer.promise;
  }

  ending(): string | null {
    return this.#ending;
  }

  onEnd(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** As a process does that ends by itself. */
  crash(how = 'ended with exit code 1'): void {
    this.#ending ??= how;
    for (const listener of this.#listeners.splice(0)) listener();
    for (const answer of this.answers) answer.reject(new Error('Connection closed'));
  }

  async close(): Promise<void> {
    this.closed = true;
    this.crash('was ended by the desktop');
  }
}

export async function openScripted(t: Test, options: BenchOptions & { starts?: (n: number) => Promise<void> } = {}) {
  const clock = new VirtualClock();
  const made: Scripted[] = [];
  let starts = 0;
  const connect = async (given: ConnectOptions): Promise<McpConnection> => {
    starts += 1;
    await options.starts?.(starts);
    given.signal.throwIfAborted();
    const connection = new Scripted(given);
    made.push(connection);
    return connection;
  };
  const bench = await createBench(t, { servers: { files: { command: 'x' } }, clock, connect, ...options });
  const begin = (tool = 'files.read', signal = new AbortController().signal) => {
    const state = { is: 'waiting' };
    void bench.call(tool, {}, { signal }).then(
      (value) => {
        state.is = `gave ${value}`;
      },
      (error: Error) => {
        state.is = error.message;
      },
    );
    return state;
  };
  /** Lets what goes on without the clock (the file is looked at) come to rest. */
  const rest = async (done: () => boolean) => {
    await until('the servers to come to rest', done);
    await clock.advance(0);
  };
  return { ...bench, clock, made, begin, rest, starts: () => starts };
}
