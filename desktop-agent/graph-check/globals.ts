/**
 * The names that a Graph finds around it, and those that it looks for in vain.
 *
 * Owns the lists; a test compares them with what the sandbox has and says. The sandbox says it itself: its code goes into the
 * interpreter as text, and cannot import.
 */

/** What a Graph is given. */
export const GRAPH_GLOBALS: ReadonlySet<string> = new Set([
  'args',
  'agent',
  'parallel',
  'pipeline',
  'retry',
  'graph',
  'tool',
  'phase',
  'log',
  'budget',
]);

/** What the language has, in a Graph. */
export const LANGUAGE_GLOBALS: ReadonlySet<string> = new Set(
  `Object Error EvalError RangeError ReferenceError SyntaxError TypeError URIError InternalError AggregateError
  SuppressedError Iterator Array parseInt parseFloat isNaN isFinite queueMicrotask decodeURI decodeURIComponent encodeURI
  encodeURIComponent escape unescape Infinity NaN undefined Number Boolean String Math Reflect Symbol DisposableStack
  globalThis BigInt RegExp JSON Proxy Map Set WeakMap WeakSet ArrayBuffer Uint8ClampedArray Int8Array Uint8Array
  Int16Array Uint16Array Int32Array Uint32Array BigInt64Array BigUint64Array Float16Array Float32Array Float64Array
  DataView Promise AsyncDisposableStack DOMException btoa atob`.split(/\s+/),
);

const NO_CLOCK = 'a Graph has no clock: pass the time in `args`, or ask an agent';
const NO_TIMERS = 'a Graph has no timers: it waits for agents, tools and Graphs, and `retry` can wait between attempts';
const NO_NETWORK = 'a Graph has no network of its own: ask an agent, or call a tool';
const NO_FILES = 'a Graph has no files and no programs: ask an agent, or call a tool';
const NO_MODULES = 'a Graph is one file and has no modules: pass what it needs in `args`, or ask an agent';
const NO_CODE = 'a Graph cannot make code from text: write the function itself';
const NO_WEAK = 'a Graph cannot watch the garbage collector: use Map or Set';
const NO_RANDOM = 'a Graph has no randomness: pass what should vary in `args`';
const NO_PAGE = 'a Graph has no page: it runs on the desktop, and returns its result';

/** Names that people expect, and what to do without them. */
export const MISSING_GLOBALS: ReadonlyMap<string, string> = new Map([
  ['Date', NO_CLOCK],
  ['performance', NO_CLOCK],
  ['Temporal', NO_CLOCK],
  ['Intl', 'a Graph has no locales: it would give other texts on another machine'],
  ['setTimeout', NO_TIMERS],
  ['setInterval', NO_TIMERS],
  ['setImmediate', NO_TIMERS],
  ['clearTimeout', NO_TIMERS],
  ['clearInterval', NO_TIMERS],
  ['fetch', NO_NETWORK],
  ['XMLHttpRequest', NO_NETWORK],
  ['WebSocket', NO_NETWORK],
  ['EventSource', NO_NETWORK],
  ['process', NO_FILES],
  ['Deno', NO_FILES],
  ['Bun', NO_FILES],
  ['Buffer', 'a Graph has no Buffer: use Uint8Array, or `btoa` and `atob`'],
  ['__dirname', NO_FILES],
  ['__filename', NO_FILES],
  ['require', NO_MODULES],
  ['module', NO_MODULES],
  ['exports', 'a Graph exports nothing but `meta`: give its result with `return`'],
  ['eval', NO_CODE],
  ['Function', NO_CODE],
  ['WeakRef', NO_WEAK],
  ['FinalizationRegistry', NO_WEAK],
  ['SharedArrayBuffer', 'a Graph has one thread: use ArrayBuffer'],
  ['Atomics', 'a Graph has one thread: it needs no Atomics'],
  ['crypto', NO_RANDOM],
  ['console', 'a Graph has no console: `log(message)` shows a line'],
  ['window', NO_PAGE],
  ['document', NO_PAGE],
  ['alert', NO_PAGE],
  ['prompt', NO_PAGE],
  ['URL', 'a Graph has no URL: take the text apart with a regular expression'],
  ['URLSearchParams', 'a Graph has no URLSearchParams: use `encodeURIComponent`'],
  ['structuredClone', 'a Graph has no structuredClone: use `JSON.parse(JSON.stringify(value))`'],
  ['TextEncoder', 'a Graph has no TextEncoder: its texts are texts'],
  ['TextDecoder', 'a Graph has no TextDecoder: its texts are texts'],
]);

/** Members of what the language has that a Graph must not use. */
export const MISSING_MEMBERS: ReadonlyMap<string, string> = new Map([['Math.random', NO_RANDOM]]);
