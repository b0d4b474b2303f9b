/**
 * Code of the sandbox: the globals of a Graph (`args`, `agent`, `parallel`, `log`, `phase`, `budget`) and its run.
 *
 * Sent into the interpreter as its own source text (`toString()`), before the Graph: it must not refer to anything
 * outside itself. It holds no limit that protects the host against a Graph that cheats; those are enforced outside. A
 * Graph that replaces built-ins under this code only harms its own run.
 */
import type { Describe, ToJson } from './guest-values.ts';

/** Tells the worker something; all texts. Never throws. */
export type GuestSend = (kind: string, first: string, ...rest: string[]) => void;

export interface GuestSetup {
  readonly fileName: string;
  readonly args: unknown;
  readonly budgetTotal: number | null;
  readonly agentsPerRun: number;
  readonly promptChars: number;
  readonly waitingPromptChars: number;
}

export interface GuestRun {
  /** Runs the Graph's body; what comes of it is sent as `returned` or `threw`. */
  run(main: () => Promise<unknown>): void;
  /** Settles a call of `agent`. */
  answer(id: number, errorName: string, text: string, spent: number): void;
}

/** `agent`, and how its calls are settled. */
export interface GuestAgents {
  agent(prompt: unknown, options?: unknown): Promise<string>;
  answer(id: number, errorName: string, text: string, spent: number): void;
  spent(): number;
}

export function readAgentOptions(options: unknown): { label: string; model: string } {
  const usage = 'agent(prompt, { label, model })';
  if (options === undefined) return { label: '', model: '' };
  if (typeof options !== 'object' || options === null) throw new TypeError(`${usage}: the options must be an object`);
  const read: Record<string, string> = { label: '', model: '' };
  for (const [key, value] of Object.entries(options)) {
    if (!(key === 'label' || key === 'model')) throw new TypeError(`${usage} has no option \`${key.slice(0, 50)}\``);
    if (value === undefined) continue;
    if (typeof value !== 'string') throw new TypeError(`${usage}: \`${key}\` must be a text`);
    read[key] = value.slice(0, 200);
  }
  return read as { label: string; model: string };
}

export function makeAgents(send: GuestSend, setup: GuestSetup, readOptions: typeof readAgentOptions): GuestAgents {
  interface Call {
    readonly chars: number;
    readonly error: Error;
    readonly resolve: (text: string) => void;
    readonly reject: (error: Error) => void;
  }
  const calls: Record<number, Call> = Object.create(null);
  const usage = 'agent(prompt, { label, model })';
  let lastId = 0;
  let waitingChars = 0;
  let spentTokens = 0;

  function named(name: string, message: string, error = new Error(message)): Error {
    Object.defineProperty(error, 'name', { value: name, configurable: true });
    Object.defineProperty(error, 'message', { value: message, configurable: true });
    return error;
  }

  function agent(prompt: unknown, options?: unknown): Promise<string> {
    return new Promise((resolve, reject) => {
      if (typeof prompt !== 'string') throw new TypeError(`${usage}: the prompt must be a text, not ${typeof prompt}`);
      if (prompt.trim() === '') throw new TypeError(`${usage}: the prompt is empty`);
      const { label, model } = readOptions(options);
      if (prompt.length > setup.promptChars || waitingChars + prompt.length > setup.waitingPromptChars) {
        throw new RangeError(`${usage}: the prompt is too long, or too much text waits for agents already`);
      }
      if (lastId >= setup.agentsPerRun) {
        throw named('AgentLimitExceeded', `a run can ask ${setup.agentsPerRun} agents and no more`);
      }
      lastId += 1;
      waitingChars += prompt.length;
      // Made here, so that the stack of a later rejection shows the line that asked.
      calls[lastId] = { chars: prompt.length, error: new Error(), resolve, reject };
      send('agent', String(lastId), prompt, label, model);
    });
  }

  function answer(id: number, errorName: string, text: string, spent: number): void {
    const call = calls[id];
    if (call === undefined) return;
    delete calls[id];
    waitingChars -= call.chars;
    spentTokens = spent;
    if (errorName === '') call.resolve(text);
    else call.reject(named(errorName, text, call.error));
  }

  return { agent, answer, spent: () => spentTokens };
}

/**
 * Starts all thunks and resolves to their results in order. When some fail it still waits for all of them, so that no
 * agent goes on unseen, and then rejects with the error of the first in order (not in time: runs stay repeatable).
 */
export async function parallel(thunks: unknown): Promise<unknown[]> {
  const usage = 'parallel(list of functions), for example parallel(topics.map((topic) => () => agent(topic)))';
  if (!Array.isArray(thunks)) throw new TypeError(`${usage}: the argument is not a list`);
  for (let index = 0; index < thunks.length; index += 1) {
    if (typeof thunks[index] === 'function') continue;
    throw new TypeError(`${usage}: entry ${index} is not a function; write \`() => agent(…)\`, not \`agent(…)\``);
  }
  const started: Promise<unknown>[] = [];
  for (const thunk of thunks) started.push((async () => thunk())());
  const results: unknown[] = [];
  let failure: { readonly error: unknown } | undefined;
  for (const running of started) {
    try {
      results.push(await running);
    } catch (error) {
      failure ??= { error };
    }
  }
  if (failure !== undefined) throw failure.error;
  return results;
}

export function installGlobals(parts: {
  send: GuestSend;
  toJson: ToJson;
  describe: Describe;
  agents: GuestAgents;
  parallel: (thunks: unknown) => Promise<unknown[]>;
  setup: GuestSetup;
}): GuestRun {
  const { send, toJson, describe, agents, setup } = parts;
  const shownChars = 10_000;

  function lineOf(message: unknown): string {
    if (typeof message === 'string') return message.slice(0, shownChars);
    try {
      return toJson(message).slice(0, shownChars);
    } catch {
      return describe(message, setup.fileName);
    }
  }

  const total = setup.budgetTotal;
  const globals: Record<string, unknown> = {
    args: setup.args,
    agent: agents.agent,
    parallel: parts.parallel,
    log: (message: unknown) => send('log', lineOf(message)),
    phase: (title: unknown) => {
      if (typeof title !== 'string') throw new TypeError('phase(title): the title must be a text');
      send('phase', title.slice(0, shownChars));
    },
    budget: Object.freeze({
      total,
      spent: () => agents.spent(),
      remaining: () => (total === null ? Number.POSITIVE_INFINITY : Math.max(0, total - agents.spent())),
    }),
  };
  for (const name of Object.keys(globals)) {
    Object.defineProperty(globalThis, name, { value: globals[name], enumerable: true });
  }

  async function settle(main: () => Promise<unknown>): Promise<void> {
    try {
      send('returned', toJson(await main()));
    } catch (thrown) {
      send('threw', describe(thrown, setup.fileName));
    }
  }

  return {
    run: (main) => {
      void settle(main);
    },
    answer: agents.answer,
  };
}
