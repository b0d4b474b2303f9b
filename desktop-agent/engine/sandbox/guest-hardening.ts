/**
 * Code of the sandbox: takes away what a Graph must not have.
 *
 * Sent into the interpreter as its own source text (`toString()`), before the Graph: it must not refer to anything
 * outside itself. The border is the interpreter in WebAssembly, which reaches nothing; this file makes runs repeatable
 * (no clock, no randomness) and gives each missing thing a message that says what to do instead.
 */
export function removeCapabilities(): void {
  const noCode = 'a Graph cannot make code from text: write the function itself';
  const noClock = 'a Graph has no clock: pass the time in `args`, or ask an agent';
  const noTimers =
    'a Graph has no timers: it waits for agents, tools and Graphs, and `retry` can wait between attempts';
  const noRandom = 'a Graph has no randomness: pass what should vary in `args`';
  const noNetwork = 'a Graph has no network of its own: ask an agent, or call a tool';
  const noWeak = 'a Graph cannot watch the garbage collector: use Map or Set';

  /** A function, also usable with `new`, that only throws. */
  function refusing(message: string, prototype?: object): () => never {
    // A declaration, not an arrow function: `new Date()` must get this message too.
    function refuse(): never {
      throw new Error(message);
    }
    if (prototype !== undefined) Object.defineProperty(refuse, 'prototype', { value: prototype });
    return refuse;
  }

  function fix(holder: object, name: string, value: unknown): void {
    Object.defineProperty(holder, name, { value, writable: false, enumerable: false, configurable: false });
  }

  // The four function constructors are reachable from any function, so it is there that they are replaced.
  const functionKinds = [
    () => undefined,
    async () => undefined,
    function* () {
      yield undefined;
    },
    async function* () {
      yield undefined;
    },
  ];
  for (const kind of functionKinds) {
    const prototype = Object.getPrototypeOf(kind);
    const refuse = refusing(noCode, prototype);
    fix(prototype, 'constructor', refuse);
    // `value instanceof Function` goes on working.
    if (prototype === Function.prototype) fix(globalThis, 'Function', refuse);
  }
  fix(globalThis, 'eval', refusing(noCode));

  const date = refusing(noClock);
  for (const name of ['now', 'parse', 'UTC']) fix(date, name, refusing(noClock));
  fix(globalThis, 'Date', date);
  fix(globalThis, 'performance', Object.freeze({ now: refusing(noClock) }));
  fix(Math, 'random', refusing(noRandom));
  for (const name of ['WeakRef', 'FinalizationRegistry']) fix(globalThis, name, refusing(noWeak));
  for (const name of ['setTimeout', 'setInterval', 'setImmediate']) fix(globalThis, name, refusing(noTimers));
  fix(globalThis, 'fetch', refusing(noNetwork));

  const gone = globalThis as Record<string, unknown>;
  delete gone.SharedArrayBuffer;
  delete gone.Atomics;
  // Hands out the functions on the stack, among them those of the prelude.
  delete (Error as unknown as Record<string, unknown>).prepareStackTrace;
}
