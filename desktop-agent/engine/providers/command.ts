/**
 * A provider that asks a local program: the prompt goes to its standard input, its standard output is the answer.
 *
 * Owns the program's life: it runs in a process group of its own, which is ended as a whole (SIGTERM, then SIGKILL)
 * when the answer is not wanted any more, takes too long or grows too large. No shell is used: nothing of a prompt is
 * ever read as a command. The program does not say how many tokens it used, so the count is an estimate (four
 * characters a token, prompt and answer). The model that a Graph asks for is ignored: the command line decides.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock, Timer } from '../../../protocol/ports.ts';
import { cleanText } from '../../../protocol/text.ts';
import { type AgentProvider, type AgentReply, type AgentRequest, estimateTokens } from '../agent-provider.ts';

export interface CommandProviderOptions {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** An answer that takes longer is a failure. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** The whole environment of the program. Default: that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default 1 MiB. */
  readonly maxAnswerBytes?: number;
}

const DEFAULT_MAX_ANSWER_BYTES = 1024 * 1024;
/** The end of standard error that is shown when the program fails. */
const STDERR_TAIL_BYTES = 4_096;
const STDERR_SHOWN_CHARS = 1_000;
/** From SIGTERM to SIGKILL. Shorter: programs cannot tidy up. Longer: a cancelled run holds the machine longer. */
const KILL_GRACE_MS = 2_000;
/** From the program's exit to the end of its output, which a process that it left behind may hold open. */
const OUTPUT_GRACE_MS = 1_000;

export function createCommandProvider(options: CommandProviderOptions): AgentProvider {
  const [program = ''] = options.command;
  if (program === '') throw new TypeError('a command provider needs a program to run');
  return { ask: (request) => new CommandCall(options, request).answer() };
}

/** One running program. Settles once, when the program is gone. */
class CommandCall {
  readonly #options: CommandProviderOptions;
  readonly #request: AgentRequest;
  readonly #maxBytes: number;
  readonly #stdout: Buffer[] = [];
  #stdoutBytes = 0;
  #stderrTail = Buffer.alloc(0);
  #timers: Timer[] = [];
  /** Why the program was stopped; null when it ended by itself. */
  #stopReason: string | null = null;

  constructor(options: CommandProviderOptions, request: AgentRequest) {
    this.#options = options;
    this.#request = request;
    this.#maxBytes = options.maxAnswerBytes ?? DEFAULT_MAX_ANSWER_BYTES;
  }

  async answer(): Promise<AgentReply> {
    const { signal, prompt } = this.#request;
    signal.throwIfAborted();
    const [program = '', ...args] = this.#options.command;
    const child = spawn(program, args, {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
      ...(this.#options.env === undefined ? {} : { env: this.#options.env }),
    });
    const onAbort = (): void => this.#stop(child, 'was stopped: its answer is not wanted any more');
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      const exit = await this.#ended(child);
      const text = this.#readAnswer(exit);
      return { text, tokens: estimateTokens(prompt, text) };
    } finally {
      signal.removeEventListener('abort', onAbort);
      for (const timer of this.#timers) timer.cancel();
    }
  }

  #ended(child: ChildProcess): Promise<{ readonly code: number | null; readonly signal: string | null }> {
    const { clock, timeoutMs } = this.#options;
    this.#timers.push(clock.after(timeoutMs, () => this.#stop(child, `gave no answer within ${timeoutMs} ms`)));
    this.#connect(child);
    return new Promise((resolve, reject) => {
      child.once('error', (error) => {
        if (child.pid === undefined) reject(new Error(`${this.#name()} could not be started: ${error.message}`));
      });
      // What the program left behind in its group goes with it, and cannot hold the output open for ever.
      child.once('exit', () => {
        this.#timers.push(
          clock.after(OUTPUT_GRACE_MS, () => {
            killGroup(child, 'SIGKILL');
            child.stdout?.destroy();
            child.stderr?.destroy();
          }),
        );
      });
      child.once('close', (code, signal) => resolve({ code, signal }));
    });
  }

  #connect(child: ChildProcess): void {
    child.stdout?.on('data', (chunk: Buffer) => {
      this.#stdoutBytes += chunk.length;
      if (this.#stdoutBytes <= this.#maxBytes) this.#stdout.push(chunk);
      else this.#stop(child, `answered with more than ${this.#maxBytes} bytes`);
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderrTail = Buffer.concat([this.#stderrTail, chunk]).subarray(-STDERR_TAIL_BYTES);
    });
    // A program that does not read its input (EPIPE) may still give an answer: its exit code decides.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(this.#request.prompt);
  }

  #stop(child: ChildProcess, reason: string): void {
    if (this.#stopReason !== null) return;
    this.#stopReason = reason;
    killGroup(child, 'SIGTERM');
    this.#timers.push(this.#options.clock.after(KILL_GRACE_MS, () => killGroup(child, 'SIGKILL')));
  }

  #readAnswer({ code, signal }: { readonly code: number | null; readonly signal: string | null }): string {
    if (this.#stopReason !== null) throw new Error(`${this.#name()} ${this.#stopReason}`);
    if (code !== 0) {
      const said = cleanText(new TextDecoder().decode(this.#stderrTail).trim(), STDERR_TAIL_BYTES).slice(
        -STDERR_SHOWN_CHARS,
      );
      const how = code === null ? `was ended by ${signal}` : `ended with exit code ${code}`;
      throw new Error(`${this.#name()} ${how}${said === '' ? '' : `: ${said.toWellFormed()}`}`);
    }
    // Decoded once, when all is there: a character may be split across chunks. Its last line break is no part of it.
    return new TextDecoder().decode(Buffer.concat(this.#stdout)).replace(/\r?\n$/, '');
  }

  #name(): string {
    return `the command ${cleanText(this.#options.command[0], 100)}`;
  }
}

function killGroup(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  if (child.pid === undefined) return;
  try {
    // Windows has no process groups; there only the program itself can be ended.
    if (process.platform === 'win32') child.kill(signal);
    else process.kill(-child.pid, signal);
  } catch {
    // Nobody of the group is left.
  }
}
