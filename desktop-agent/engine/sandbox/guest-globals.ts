/**
 * Code of the sandbox: puts the globals of a Graph in their places, and runs it.
 *
 * Sent into the interpreter as its own source text (`toString()`), before the Graph: it must not refer to anything
 * outside itself. It holds no limit that protects the host against a Graph that cheats; those are enforced outside. A
 * Graph that replaces built-ins under this code only harms its own run.
 */
import type { GuestAsking } from './guest-asking.ts';
import type { GuestCalls, GuestSend } from './guest-calls.ts';
import type { GuestErrors } from './guest-errors.ts';
import type { GuestFlow } from './guest-flow.ts';
import type { GuestRetry, RetrySetup } from './guest-retry.ts';
import type { Describe, ToJson } from './guest-values.ts';

export interface GuestSetup extends RetrySetup {
  readonly args: unknown;
  readonly budgetTotal: number | null;
}

export interface GuestRun {
  /** Runs the Graph's body; what comes of it is sent as `returned` or `threw`. */
  run(main: () => Promise<unknown>): void;
  /** Settles a call of the Graph. */
  settle: GuestCalls['settle'];
}

export interface GlobalsParts {
  readonly send: GuestSend;
  readonly toJson: ToJson;
  readonly describe: Describe;
  readonly errors: GuestErrors;
  readonly calls: GuestCalls;
  readonly asking: GuestAsking;
  readonly flow: GuestFlow;
  readonly retry: GuestRetry;
  readonly setup: GuestSetup;
}

export function installGlobals({ send, toJson, describe, setup, ...parts }: GlobalsParts): GuestRun {
  const { errors, calls, asking, flow, retry } = parts;
  const shownChars = 10_000;

  function lineOf(message: unknown): string {
    if (typeof message === 'string') return message.slice(0, shownChars);
    try {
      return toJson(message, 'message').slice(0, shownChars);
    } catch {
      return describe(message, setup.fileName);
    }
  }

  const globals: Record<string, unknown> = {
    args: setup.args,
    ...asking,
    ...flow,
    retry,
    log: (message: unknown) => {
      send('log', lineOf(message));
    },
    phase: (title: unknown) => {
      if (typeof title !== 'string') throw errors.misuse('phase(title): the title must be a text');
      send('phase', title.slice(0, shownChars));
    },
    budget: Object.freeze({
      total: setup.budgetTotal,
      spent: () => calls.budget.spent,
      remaining: () => calls.budget.remaining,
    }),
  };
  for (const name of Object.keys(globals)) {
    Object.defineProperty(globalThis, name, { value: globals[name], enumerable: true });
  }

  async function runBody(main: () => Promise<unknown>): Promise<void> {
    try {
      send('returned', toJson(await main(), 'result'));
    } catch (thrown) {
      send('threw', describe(thrown, setup.fileName), errors.isFinal(thrown) ? 'final' : '');
    }
  }

  return {
    run: (main) => {
      void runBody(main);
    },
    settle: calls.settle,
  };
}
