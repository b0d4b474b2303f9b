/**
 * One run of a local program: text goes to its standard input, and what it writes comes back when it is gone.
 *
 * Owns the program's life: it runs in a process group of its own, which is ended as a whole (SIGTERM, then SIGKILL)
 * when the answer is not wanted any more, takes too long or grows too large. No shell is used: nothing of the input is
 * ever read as a command. What the output means is for the caller.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import type { Clock, Timer } from '../../../protocol/ports.ts';
import { cleanText } from '../../../protocol/text.ts';
import { withoutOwnSecrets } from '../../own-secrets.ts';

export interface ProgramRun {
  /** The program and its arguments. */
  readonly command: readonly string[];
  readonly input: string;
  /** Aborted when the output is not wanted any more. */
  readonly signal: AbortSignal;
  /** A program that takes longer is stopped. */
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  readonly clock: Clock;
  /** The whole environment of the program. Default: that of this process, but for what lets it in at the relay. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

export interface ProgramEnd {
  readonly stdout: string;
  /** The end of standard error, clean. */
  readonly stderr: string;
  /** How it ended when that was no success, for a person: `ended with exit code 3`; null for a success. */
  readonly failure: string | null;
}

const STDERR_TAIL_BYTES = 4_096;
/** From SIGTERM to SIGKILL. Shorter: programs cannot tidy up. Longer: a cancelled run holds the machine longer. */
const KILL_GRACE_MS = 2_000;
/** From the program's exit to the end of its output, which a process that it left behind may hold open. */
const OUTPUT_GRACE_MS = 1_000;

/** What to call it in messages. */
export function programName(command: readonly string[]): string {
  return `the command ${cleanText(command[0], 100)}`;
}

/** Rejects, with a message for a person, when the program could not be started or had to be stopped. */
export function runProgram(run: ProgramRun): Promise<ProgramEnd> {
  return new RunningProgram(run).end();
}

class RunningProgram {
  readonly #run: ProgramRun;
  readonly #stdout: Buffer[] = [];
  #stdoutBytes = 0;
  #stderrTail = Buffer.alloc(0);
  #timers: Timer[] = [];
  /** Why it was stopped; null when it ended by itself. */
  #stopReason: string | null = null;

  constructor(run: ProgramRun) {
    this.#run = run;
  }

  async end(): Promise<ProgramEnd> {
    const { signal, command, env } = this.#run;
    signal.throwIfAborted();
    const [program = '', ...args] = command;
    const child = spawn(program, args, {
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
      env: { ...(env ?? withoutOwnSecrets(process.env)) },
    });
    const onAbort = (): void => this.#stop(child, 'was stopped: its answer is not wanted any more');
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      const failure = await this.#ended(child);
      if (this.#stopReason !== null) throw new Error(`${programName(command)} ${this.#stopReason}`);
      const stderr = cleanText(new TextDecoder().decode(this.#stderrTail).trim(), STDERR_TAIL_BYTES);
      // Decoded once, when all is there: a character may be split across chunks.
      return { stdout: new TextDecoder().decode(Buffer.concat(this.#stdout)), stderr, failure };
    } finally {
      signal.removeEventListener('abort', onAbort);
      for (const timer of this.#timers) timer.cancel();
    }
  }

  #ended(child: ChildProcess): Promise<string | null> {
    const { clock, timeoutMs, command } = this.#run;
    this.#timers.push(clock.after(timeoutMs, () => this.#stop(child, `gave no answer within ${timeoutMs} ms`)));
    this.#connect(child);
    return new Promise((resolve, reject) => {
      child.once('error', (error) => {
        if (child.pid === undefined)
          reject(new Error(`${programName(command)} could not be started: ${error.message}`));
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
      child.once('close', (code, signal) => {
        if (code === 0) resolve(null);
        else resolve(code === null ? `was ended by ${signal}` : `ended with exit code ${code}`);
      });
    });
  }

  #connect(child: ChildProcess): void {
    const { maxOutputBytes, input } = this.#run;
    child.stdout?.on('data', (chunk: Buffer) => {
      this.#stdoutBytes += chunk.length;
      if (this.#stdoutBytes <= maxOutputBytes) this.#stdout.push(chunk);
      else this.#stop(child, `answered with more than ${maxOutputBytes} bytes`);
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      this.#stderrTail = Buffer.concat([this.#stderrTail, chunk]).subarray(-STDERR_TAIL_BYTES);
    });
    // A program that does not read its input (EPIPE) may still give an answer: its exit code decides.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  }

  #stop(child: ChildProcess, reason: string): void {
    if (this.#stopReason !== null) return;
    this.#stopReason = reason;
    killGroup(child, 'SIGTERM');
    this.#timers.push(this.#run.clock.after(KILL_GRACE_MS, () => killGroup(child, 'SIGKILL')));
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
