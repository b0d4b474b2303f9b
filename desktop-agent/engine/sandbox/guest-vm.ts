/**
 * One interpreter with one Graph, inside a worker.
 *
 * Owns the interpreter's life: the code that is put in before the Graph, each entry into it, its limits, and how any
 * end of it becomes exactly one `returned` or `failed`. It is never used for a second Graph. It knows no threads:
 * messages come in by `receive` and go out by `post`.
 */
import { readFile } from 'node:fs/promises';
import { EvalFlags, Intrinsics, JSException, type JSValueHandle, QuickJS } from 'quickjs-wasi';
import { valueProblems } from '../../../protocol/arguments-schema.ts';
import { ERROR_CHARS } from '../../../protocol/limits.ts';
import { cleanText } from '../../../protocol/text.ts';
import type { SandboxAnswer, SandboxLimits, SandboxMessage, SandboxStart, ToSandbox } from '../sandbox-messages.ts';
import { makeAsking } from './guest-asking.ts';
import { makeCalls } from './guest-calls.ts';
import { makeErrors } from './guest-errors.ts';
import { makeFlow } from './guest-flow.ts';
import { installGlobals } from './guest-globals.ts';
import { removeCapabilities } from './guest-hardening.ts';
import { makeRetry } from './guest-retry.ts';
import { makeDescribe, makeToJson } from './guest-values.ts';
import { type CallKind, OpenCalls } from './open-calls.ts';
import { threadMs } from './worker-clock.ts';

const WITHOUT_CLOCKS = Intrinsics.ALL & ~(Intrinsics.DATE | Intrinsics.PERFORMANCE | Intrinsics.WEAK_REF);

const NEVER_SETTLES =
  'the Graph waits for something that can never happen: no agent, tool or Graph is running, and nothing else can end its `await`';

const CALL_KINDS: readonly string[] = ['agent', 'tool', 'graph', 'retry'] satisfies CallKind[];

/** A function of ours as an expression that the interpreter can read. */
function inGuest(code: (...args: never[]) => unknown): string {
  return `(${code.toString()})`;
}

/** Evaluates to a function of `send` and the run's setup as JSON, which gives a `GuestRun`. */
function preludeSource(limits: SandboxLimits): string {
  return `'use strict'; (() => {
    const toJson = ${inGuest(makeToJson)}(${limits.resultDepth});
    const describe = ${inGuest(makeDescribe)}();
    const makeErrors = ${inGuest(makeErrors)};
    const makeCalls = ${inGuest(makeCalls)};
    const makeAsking = ${inGuest(makeAsking)};
    const makeFlow = ${inGuest(makeFlow)};
    const makeRetry = ${inGuest(makeRetry)};
    const installGlobals = ${inGuest(installGlobals)};
    const parse = JSON.parse;
    ${inGuest(removeCapabilities)}();
    return (send, setupJson) => {
      const setup = parse(setupJson);
      const errors = makeErrors();
      const calls = makeCalls(send, { spent: setup.spent, remaining: setup.remaining ?? Infinity }, errors);
      const asking = makeAsking(calls, errors, toJson);
      const flow = makeFlow(errors);
      const retry = makeRetry({ calls, errors, describe, setup });
      return installGlobals({ send, toJson, describe, setup, errors, calls, asking, flow, retry });
    };
  })()`;
}

/** What the interpreter asks of its system. Nothing: time stands still, chance is zero, output goes nowhere. */
function emptySystem(memory: { readonly buffer: ArrayBuffer }) {
  return {
    clock_time_get(_clock: number, _precision: bigint, resultPointer: number): number {
      new DataView(memory.buffer).setBigUint64(resultPointer, 0n, true);
      return 0;
    },
    random_get(pointer: number, length: number): number {
      new Uint8Array(memory.buffer, pointer, length).fill(0);
      return 0;
    },
    fd_write(_file: number, _vectors: number, _count: number, writtenPointer: number): number {
      new DataView(memory.buffer).setUint32(writtenPointer, 0, true);
      return 0;
    },
  };
}

export class GuestVm {
  readonly #limits: SandboxLimits;
  readonly #post: (message: SandboxMessage) => void;
  #vm!: QuickJS;
  #prelude!: JSValueHandle;
  #guest: JSValueHandle | null = null;
  #sliceStartedAt = 0;
  #sliceIsOver = false;
  #ended = false;
  #handled = 0;
  readonly #calls: OpenCalls;
  #logEvents = 0;

  private constructor(limits: SandboxLimits, post: (message: SandboxMessage) => void) {
    this.#limits = limits;
    this.#post = post;
    this.#calls = new OpenCalls(limits);
  }

  /** An interpreter that is ready for its Graph: all that does not depend on the Graph has been done. */
  static async create(limits: SandboxLimits, post: (message: SandboxMessage) => void): Promise<GuestVm> {
    const guest = new GuestVm(limits, post);
    guest.#vm = await QuickJS.create({
      wasm: await readFile(new URL(import.meta.resolve('quickjs-wasi/quickjs.wasm'))),
      wasi: emptySystem,
      intrinsics: WITHOUT_CLOCKS,
      timezoneOffset: 0,
      memoryLimit: limits.memoryBytes,
      maxStackSize: limits.stackBytes,
      interruptHandler: () => guest.#mustStop(),
    });
    guest.#sliceStartedAt = threadMs();
    guest.#prelude = guest.#vm.evalCode(preludeSource(limits), '<prelude>');
    return guest;
  }

  /** Runs a small Graph in an interpreter of its own, which is then thrown away. */
  static async rehearse(limits: SandboxLimits): Promise<void> {
    const guest = await GuestVm.create(limits, () => undefined);
    const body = "const [answer] = await parallel([() => agent('?')]); log(answer); return { answer };";
    const budget = { spent: 0, remaining: null };
    const setup = { argsJson: '{}', argumentsSchema: null, budgetTotal: null, budget };
    guest.receive({ type: 'start', fileName: 'rehearsal', body, ...setup });
    guest.receive({ type: 'answer', id: 1, text: '!', error: null, budget });
    guest.#vm.dispose();
  }

  receive(message: ToSandbox): void {
    if (this.#ended) return;
    this.#handled += 1;
    this.#sliceStartedAt = threadMs();
    try {
      if (message.type === 'start') this.#start(message);
      else if (message.type === 'answer') this.#answer(message);
      else this.#post({ type: 'checked', problem: this.#calls.check(message.id, message.text) });
      this.#vm.executePendingJobs();
    } catch (error) {
      this.#fail(this.#reasonOf(error));
    }
    if (this.#ended) return;
    if (this.#calls.size === 0) this.#fail(NEVER_SETTLES);
    else this.#post({ type: 'idle', handled: this.#handled });
  }

  #start(start: SandboxStart): void {
    const vm = this.#vm;
    if (!this.#argumentsFit(start)) return;
    const { retryAttempts, retryWaitMs } = this.#limits;
    // The arguments are JSON text already: they are parsed once, by the interpreter.
    const rest = JSON.stringify({
      fileName: start.fileName,
      budgetTotal: start.budgetTotal,
      ...start.budget,
      retryAttempts,
      retryWaitMs,
    });
    const setupJson = `${rest.slice(0, -1)},"args":${start.argsJson}}`;
    const send = vm.newFunction('send', (...args) => this.#onSend(args));
    this.#guest = vm.callFunction(this.#prelude, vm.undefined, send, vm.newString(setupJson));
    // On the first line of the body, so that line numbers are those of the file.
    const main = vm.evalCode(`(async () => {${start.body}\n})`, start.fileName, EvalFlags.STRICT);
    vm.callFunction(this.#guest.getProp('run'), vm.undefined, main).dispose();
  }

  /** Here and not on the host thread, since a schema may be made to take for ever. */
  #argumentsFit({ argumentsSchema, argsJson }: SandboxStart): boolean {
    const problems = argumentsSchema === null ? [] : valueProblems(argumentsSchema, JSON.parse(argsJson), 'arguments');
    if (problems.length > 0) this.#fail(`${problems.join('; ')}. Nothing was started.`, true);
    return problems.length === 0;
  }

  #answer(answer: SandboxAnswer): void {
    const vm = this.#vm;
    if (this.#guest === null) return;
    this.#calls.close(answer.id);
    const settle = this.#guest.getProp('settle');
    const given = vm.newObject();
    const fields = {
      id: vm.newNumber(answer.id),
      text: vm.newString(answer.text),
      errorName: vm.newString(answer.error?.name ?? ''),
      final: answer.error?.final ? vm.true : vm.false,
      spent: vm.newNumber(answer.budget.spent),
      remaining: vm.newNumber(answer.budget.remaining ?? Number.POSITIVE_INFINITY),
    };
    for (const [name, value] of Object.entries(fields)) given.defineProp(name, value);
    vm.callFunction(settle, vm.undefined, given).dispose();
    for (const handle of [settle, given, ...Object.values(fields)]) handle.dispose();
  }

  /** Called by the prelude, inside the Graph's computing. Must not throw: the Graph would see our error. */
  #onSend(args: readonly JSValueHandle[]): JSValueHandle {
    // Texts only: converting anything else would run code of the Graph here.
    const [kind = '', ...texts] = args.map((arg) => (arg.isString ? arg.toString() : ''));
    return this.#vm.newString(this.#ended ? '' : this.#take(kind, texts));
  }

  /** Gives '' or why a call is refused. */
  #take(kind: string, [first = '', ...rest]: readonly string[]): string {
    if (CALL_KINDS.includes(kind)) {
      const call = { kind: kind as CallKind, id: Number(first), texts: rest, slice: this.#handled };
      const opened = this.#calls.open(call);
      if ('refusal' in opened) return opened.refusal;
      this.#post(opened.message);
    } else if (kind === 'log' || kind === 'phase') this.#show(kind, first);
    else if (kind === 'returned') this.#return(first);
    else if (kind === 'threw') this.#fail(first, rest[0] === 'final');
    return '';
  }

  /** One more than may be shown goes out, so that the host can say that the rest is dropped. */
  #show(type: 'log' | 'phase', text: string): void {
    this.#logEvents += 1;
    const { logEvents, logChars } = this.#limits;
    if (this.#logEvents <= logEvents + 1) this.#post({ type, text: cleanText(text, logChars) });
  }

  #return(json: string): void {
    if (json.length > this.#limits.resultChars) {
      this.#fail(`the result has ${json.length} characters of JSON; at most ${this.#limits.resultChars} are kept`);
      return;
    }
    this.#ended = true;
    this.#post({ type: 'returned', json });
  }

  #fail(reason: string, final = false): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#post({ type: 'failed', reason: cleanText(reason, ERROR_CHARS), final });
  }

  /** Asked by the interpreter every few thousand steps. A Graph cannot catch the stop. */
  #mustStop(): boolean {
    if (this.#ended) return true;
    this.#sliceIsOver ||= threadMs() - this.#sliceStartedAt > this.#limits.cpuSliceMs;
    return this.#sliceIsOver;
  }

  #reasonOf(error: unknown): string {
    if (this.#sliceIsOver)
      return `the Graph computed for more than ${this.#limits.cpuSliceMs / 1_000} s without waiting for anything`;
    const text = cleanText(error, ERROR_CHARS);
    if (/out of memory|wasm_malloc/.test(text)) {
      return `the Graph needed more than its ${Math.round(this.#limits.memoryBytes / 1_048_576)} MiB of memory (out of memory)`;
    }
    if (!(error instanceof JSException)) return `the sandbox could not go on: ${text}`;
    const place = error.stack?.split('\n', 1)[0]?.trim();
    return place ? `${text} (${place})` : text;
  }
}
