/**
 * Processes that are made to be killed, with a successor that is loaded already.
 *
 * Owns the life of the processes and the messages between them and the test. What they do is in `kill-relay.ts` and
 * `kill-desktop.ts`.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Tokens {
  readonly caller: string;
  readonly desktop: string;
}

export type RelayOrder =
  | { readonly type: 'open'; readonly directory: string; readonly port: number; readonly tokens: Tokens | null }
  | { readonly type: 'queue'; readonly key: string; readonly sessionId: string }
  | { readonly type: 'read'; readonly commandId: string };

export type RelayReport =
  | { readonly type: 'loaded' }
  | { readonly type: 'open'; readonly tokens: Tokens }
  | { readonly type: 'ticket'; readonly key: string; readonly commandId: string; readonly replayed: boolean }
  | { readonly type: 'refused'; readonly key: string }
  | {
      readonly type: 'read';
      readonly commandId: string;
      readonly status: string;
      readonly result?: unknown;
      readonly error: string | null;
    };

export interface DesktopOrder {
  readonly directory: string;
  readonly url: string;
  readonly token: string;
  readonly sessionId: string;
  /** Each start of a run is a line here. */
  readonly runsFile: string;
}

export type DesktopReport =
  | { readonly type: 'loaded' }
  | { readonly type: 'open' }
  | { readonly type: 'ended'; readonly end: string };

export class Killable<Order extends object, Report extends { readonly type: string }> {
  readonly #script: string;
  readonly #onReport: (report: Report) => void;
  #current: ChildProcess | null = null;
  #isOpen = false;
  #next: Promise<ChildProcess>;

  constructor(script: 'kill-relay.ts' | 'kill-desktop.ts', onReport: (report: Report) => void) {
    this.#script = fileURLToPath(new URL(script, import.meta.url));
    this.#onReport = onReport;
    this.#next = this.#load();
  }

  /** Lets the successor take over. Resolves when it says that it is open. */
  async open(order: Order): Promise<void> {
    const child = await this.#next;
    this.#next = this.#load();
    const opened = Promise.withResolvers<void>();
    child.on('message', (report: Report) => {
      if (report.type === 'open') opened.resolve();
      this.#onReport(report);
    });
    child.once('exit', (code) => opened.reject(new Error(`${this.#script} ended with ${code} while it opened`)));
    this.#current = child;
    child.send(order);
    await opened.promise;
    this.#isOpen = true;
  }

  /** Says something to the process of this moment; it may be dead before it reads it. */
  tell(order: Order): void {
    if (this.#isOpen && this.#current?.connected) this.#current.send(order, () => {});
  }

  async kill(): Promise<void> {
    const child = this.#current!;
    this.#isOpen = false;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** Kills what is there, and the successor. */
  async end(): Promise<void> {
    this.#current?.kill('SIGKILL');
    (await this.#next).kill('SIGKILL');
  }

  async #load(): Promise<ChildProcess> {
    // Compiled once, by the first of them.
    const env = { ...process.env, NODE_COMPILE_CACHE: join(tmpdir(), 'graph-relay-tests') };
    const child = fork(this.#script, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], env, execArgv: [] });
    await once(child, 'message');
    return child;
  }
}
