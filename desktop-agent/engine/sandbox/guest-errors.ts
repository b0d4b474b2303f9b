/**
 * Code of the sandbox: the errors that the globals of a Graph give.
 *
 * Sent into the interpreter as its own source text (`toString()`), before the Graph: it must not refer to anything
 * outside itself.
 */

export interface GuestErrors {
  /** Gives an error its name and its message. */
  named(error: Error, name: string, message: string): Error;
  /** An error about how a global was called. */
  misuse(message: string): TypeError;
  /** The same call would be refused again, so that trying again does not help. */
  final<Thrown extends Error>(error: Thrown): Thrown;
  isFinal(error: unknown): boolean;
}

export function makeErrors(): GuestErrors {
  const finals = new WeakSet<object>();

  function named(error: Error, name: string, message: string): Error {
    Object.defineProperty(error, 'name', { value: name, configurable: true });
    Object.defineProperty(error, 'message', { value: message, configurable: true });
    return error;
  }

  function final<Thrown extends Error>(error: Thrown): Thrown {
    finals.add(error);
    return error;
  }

  function isFinal(error: unknown): boolean {
    return typeof error === 'object' && error !== null && finals.has(error);
  }

  return { named, misuse: (message) => final(new TypeError(message)), final, isFinal };
}
