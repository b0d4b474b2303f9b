/**
 * Code of the sandbox: how a Graph asks the host for something, and how the answer comes back.
 *
 * Sent into the interpreter as its own source text (`toString()`), before the Graph: it must not refer to anything
 * outside itself.
 */
import type { GuestErrors } from './guest-errors.ts';

/** Tells the worker something; all texts. Gives '' or, for a call that is refused, `ErrorName|message`. Never throws. */
export type GuestSend = (kind: string, ...texts: string[]) => string;

export interface GuestBudget {
  spent: number;
  /** `Infinity` without a ceiling. */
  remaining: number;
}

export interface GuestAnswer extends GuestBudget {
  readonly id: number;
  readonly text: string;
  /** '' for an answer. */
  readonly errorName: string;
  readonly final: boolean;
}

export interface GuestCalls {
  readonly budget: GuestBudget;
  /** Settles when the host has answered; `read` makes the value of the answer's text. */
  ask(kind: string, texts: readonly string[], read: (text: string) => unknown): Promise<unknown>;
  settle(answer: GuestAnswer): void;
}

export function makeCalls(send: GuestSend, budget: GuestBudget, errors: GuestErrors): GuestCalls {
  interface Call {
    readonly error: Error;
    readonly read: (text: string) => unknown;
    readonly resolve: (value: unknown) => void;
    readonly reject: (error: Error) => void;
  }
  const open: Record<number, Call> = Object.create(null);
  let lastId = 0;

  function ask(kind: string, texts: readonly string[], read: (text: string) => unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      lastId += 1;
      // Made here, so that the stack of a later rejection shows the line that asked.
      const error = new Error();
      const refusal = send(kind, String(lastId), ...texts);
      if (refusal === '') {
        open[lastId] = { error, read, resolve, reject };
        return;
      }
      const end = refusal.indexOf('|');
      reject(errors.final(errors.named(error, refusal.slice(0, end), refusal.slice(end + 1))));
    });
  }

  function settle({ id, text, errorName, final, spent, remaining }: GuestAnswer): void {
    budget.spent = spent;
    budget.remaining = remaining;
    const call = open[id];
    if (call === undefined) return;
    delete open[id];
    if (errorName === '') {
      call.resolve(call.read(text));
      return;
    }
    const error = errors.named(call.error, errorName, text);
    call.reject(final ? errors.final(error) : error);
  }

  return { budget, ask, settle };
}
