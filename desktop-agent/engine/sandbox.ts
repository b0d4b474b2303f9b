/**
 * One sandbox seen from the host thread: a worker with an interpreter, for one run.
 *
 * Owns the worker's life and the watch over it. A worker may be ended at any moment, also while it computes; it is
 * never used for a second run, so nothing of one Graph can reach the next.
 */
import { Worker } from 'node:worker_threads';
import { siblingModule } from '../../protocol/host/sibling-module.ts';
import { ERROR_CHARS } from '../../protocol/limits.ts';
import type { Clock, Timer } from '../../protocol/ports.ts';
import { cleanText } from '../../protocol/text.ts';
import type { EngineLimits } from './engine-limits.ts';
import {
  type FromSandbox,
  fromSandboxSchema,
  type SandboxSetup,
  type SandboxStart,
  type ToSandbox,
} from './sandbox-messages.ts';

/** The same file as it is in the working tree and in the published package. */
const WORKER_FILE = siblingModule('./sandbox/worker-main', import.meta.url);

/**
 * Thread stack of a worker. The interpreter's own stack is bounded far below, by `stackBytes`, so that deep recursion
 * of a Graph is an error that it can catch, not a crash of the thread. With 4 MB, nested parsing broke the thread first.
 */
const THREAD_STACK_MB = 8;

/** JavaScript heap of a worker, beside the interpreter's memory: room for the texts on their way. */
const THREAD_HEAP_MB = 256;

export interface SandboxListener {
  /** A well-formed message of the Graph. */
  onMessage(message: FromSandbox): void;
  /** The worker is gone, or must be given up. The last call. */
  onBroken(reason: string): void;
}

export interface SandboxOptions {
  readonly clock: Clock;
  readonly limits: EngineLimits;
  /** For a sandbox that is made ahead of its run: starts some 30 ms later, and then runs its Graph some 5 ms sooner. */
  readonly rehearse: boolean;
}

export class Sandbox {
  readonly #clock: Clock;
  readonly #limits: EngineLimits;
  readonly #schema: ReturnType<typeof fromSandboxSchema>;
  readonly #worker: Worker;
  #listener: SandboxListener | null = null;
  #brokenReason: string | null = null;
  #ready = false;
  readonly #settled = Promise.withResolvers<void>();
  /** The start, while the worker does not listen yet. (Node keeps messages until then, Deno does not.) */
  #unsent: ToSandbox | null = null;
  #sent = 0;
  #handled = 0;
  #watch: Timer | null = null;
  #end: Promise<void> | null = null;

  constructor({ clock, limits, rehearse }: SandboxOptions) {
    this.#clock = clock;
    this.#limits = limits;
    this.#schema = fromSandboxSchema(limits);
    this.#worker = new Worker(WORKER_FILE, {
      workerData: { limits, rehearse } satisfies SandboxSetup,
      // Nothing of the desktop's environment, such as keys, is there to be found.
      env: {},
      execArgv: [],
      resourceLimits: { stackSizeMb: THREAD_STACK_MB, maxOldGenerationSizeMb: THREAD_HEAP_MB },
    });
    this.#worker.on('message', (message: unknown) => this.#receive(message));
    this.#worker.on('messageerror', (error) =>
      this.#break(`the sandbox sent what cannot be read: ${cleanText(error, ERROR_CHARS)}`),
    );
    this.#worker.on('error', (error) => this.#break(`the sandbox stopped: ${cleanText(error, ERROR_CHARS)}`));
    this.#worker.on('exit', (code) => this.#break(`the sandbox stopped with code ${code}`));
    // A sandbox that waits for its run does not keep the process alive.
    this.#worker.unref();
  }

  /** Set once the worker is gone. */
  get brokenReason(): string | null {
    return this.#brokenReason;
  }

  /** Whether the Graph waits, and has seen all that was sent. */
  get idle(): boolean {
    return this.#unsent === null && this.#handled === this.#sent;
  }

  /** Resolves when the worker listens, or is gone. */
  get settled(): Promise<void> {
    return this.#settled.promise;
  }

  /** Starts the one run of this sandbox. */
  begin(start: SandboxStart, listener: SandboxListener): void {
    this.#listener = listener;
    this.#worker.ref();
    if (this.#brokenReason !== null) listener.onBroken(this.#brokenReason);
    else if (this.#ready) this.send(start);
    else this.#unsent = start;
  }

  send(message: ToSandbox): void {
    if (this.#end !== null || this.#brokenReason !== null) return;
    this.#sent += 1;
    this.#worker.postMessage(message);
    this.#watchWhileBusy();
  }

  /** Ends the worker, whatever it does. Resolves when it is gone; it never rejects. */
  end(): Promise<void> {
    this.#listener = null;
    this.#settled.resolve();
    this.#watch?.cancel();
    this.#end ??= this.#worker.terminate().then(
      () => undefined,
      () => undefined,
    );
    return this.#end;
  }

  #receive(message: unknown): void {
    if (this.#end !== null) return;
    const parsed = this.#schema.safeParse(message);
    if (!parsed.success) {
      this.#break('the sandbox sent a message that it must not send');
      return;
    }
    if (parsed.data.type === 'ready') {
      this.#ready = true;
      this.#settled.resolve();
      if (this.#unsent !== null) this.send(this.#unsent);
      this.#unsent = null;
    } else if (parsed.data.type === 'idle') {
      this.#handled = parsed.data.handled;
      if (this.idle) this.#watch?.cancel();
    }
    this.#listener?.onMessage(parsed.data);
  }

  /**
   * The interpreter checks its CPU time itself, but a few built-ins (such as a search in a huge text) run without any
   * check. This is the watch from outside for those; it is generous, since it can only measure time that passes.
   */
  #watchWhileBusy(): void {
    this.#watch?.cancel();
    const { cpuSliceMs, stuckMarginMs } = this.#limits;
    this.#watch = this.#clock.after(2 * cpuSliceMs + stuckMarginMs, () => {
      this.#break(
        `the Graph computed for more than ${cpuSliceMs / 1_000} s inside one built-in call or one check of a schema`,
      );
    });
  }

  #break(reason: string): void {
    if (this.#brokenReason !== null || this.#end !== null) return;
    this.#brokenReason = reason;
    const listener = this.#listener;
    void this.end();
    listener?.onBroken(reason);
  }
}
