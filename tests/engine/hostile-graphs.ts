/**
 * Graphs that mean harm, for tests: each logs `in`, and then goes on as long as it is let.
 *
 * Owns the sources and the reasons with which such a run ends under short limits.
 */
import type { AgentProvider } from '../../desktop-agent/engine/agent-provider.ts';
import type { ToolHost } from '../../desktop-agent/engine/tool-host.ts';
import { graph } from './support.ts';

export interface HostileGraph {
  readonly name: string;
  readonly source: string;
  /** How its run ends when nobody stops it. */
  readonly ends: RegExp;
}

const COMPUTING =
  /^the Graph computed for more than 0\.4 s (without waiting for anything|inside one built-in call or one check of a schema)$/;

const META = ", tools: ['box.*'], limits: { max_concurrency: 4 }";

function hostile(name: string, body: string, ends: RegExp = COMPUTING): HostileGraph {
  return { name, source: graph(`log('in'); ${body}`, META), ends };
}

const GLOBALS = '[agent, tool, graph, parallel, pipeline, retry, log, phase]';

export const HOSTILE_GRAPHS: readonly HostileGraph[] = [
  hostile('loops', 'for (;;);'),
  hostile('loops over awaits that nothing holds up', 'for (;;) await null;'),
  hostile(
    'looks for a way out, again and again',
    `const ways = [(f) => f.constructor('return process')(), (f) => f.constructor.constructor('return this')(),
      (f) => Object.getPrototypeOf(f).constructor('return globalThis')(), (f) => f.caller, (f) => f.arguments.callee,
      (f) => f.call.call(eval, null, '1'), () => new Error().stack.getThis()];
    for (;;) for (const way of ways) for (const f of ${GLOBALS}) try { await way(f) } catch {}`,
  ),
  hostile(
    'poisons every prototype that it finds',
    `for (const C of [Object, Array, Function, Promise, Error, String, Number, Map, RegExp]) {
      for (const key of ['polluted', 'toJSON', 'message', 'type', 'error', 'then', 'name', 'get', 'value']) {
        try { C.prototype[key] = () => { for (;;); } } catch {}
      }
    }
    ({}).then; for (;;);`,
  ),
  hostile(
    'gives traps to every global',
    `const trap = new Proxy(() => 0, { get() { throw trap }, has() { throw 1 }, ownKeys() { throw 2 }, apply() { throw 3 } });
    for (;;) for (const f of ${GLOBALS}) {
      for (const args of [[trap], [trap, trap], ['x', trap], ['x', { get label() { throw 4 } }], [[trap]], []]) {
        try { f(...args)?.catch?.(() => 0) } catch {}
      }
      await null;
    }`,
  ),
  hostile(
    'holds half of its memory and computes',
    'const hog = []; for (let i = 0; i < 2e5; i++) hog.push({ i }); for (;;);',
  ),
  hostile('recurses for ever and catches it', 'const f = () => f() + 1; for (;;) try { f() } catch {}'),
  hostile('floods the log', "for (;;) log('x'.repeat(5000));"),
  hostile('shows huge values', "for (;;) { log({ x: 'y'.repeat(1e6) }); phase('z'.repeat(1e6)); }"),
  hostile('asks agents without end', "for (;;) { agent('x').catch(() => 0); await null; }"),
  hostile(
    'calls tools without end',
    "for (;;) { tool('box.x', {}).catch(() => 0); tool('no.no').catch(() => 0); await null; }",
  ),
  hostile(
    'calls Graphs without end, which loop and call more',
    "for (;;) { graph('looper').catch(() => 0); graph('again').catch(() => 0); await null; }",
  ),
  hostile(
    'tries again without end',
    'for (;;) await retry(() => { throw 1 }, { attempts: 5, backoff_ms: 0 }).catch(() => 0);',
  ),
  hostile(
    'forges its result and its answers',
    `JSON.stringify = () => '{"status":"completed"}'; JSON.parse = () => ({ forged: true });
    Promise.prototype.then = (resolve) => resolve('forged'); Object.defineProperty = () => 0;
    globalThis.postMessage?.({ type: 'returned', json: '1' }); for (;;);`,
  ),
  hostile('matches an exploding expression', "/^(a+)+$/.test('a'.repeat(60) + 'b'); for (;;);"),
  hostile(
    'asks for answers by a schema that explodes',
    "for (;;) await agent('explode', { schema: { type: 'string', pattern: '^(a+)+$' } }).catch(() => 0);",
  ),
  hostile(
    'hides in a built-in that cannot be interrupted',
    "'a'.repeat(2e7).indexOf('a'.repeat(1e7) + 'b'); for (;;);",
  ),
  hostile('waits for ever beside an agent', "agent('x'); await new Promise(() => {}); ", /can never happen/),
];

/** What the hostile Graphs can call. */
export const HOSTILE_SHELF: Readonly<Record<string, string>> = {
  looper: graph('for (;;);'),
  again: graph("await parallel([1, 2, 3, 4, 5].map(() => () => graph('looper').catch(() => graph('again'))))"),
};

export const EXPLODING_ANSWER = JSON.stringify(`${'a'.repeat(60)}b`);

/** Answers at once, or never. */
export function hostileWorld(answers: boolean): { provider: AgentProvider; tools: ToolHost } {
  const never = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));
  return {
    provider: {
      ask: async ({ prompt, signal }) => {
        if (prompt === 'explode') return { text: EXPLODING_ANSWER, tokens: 1 };
        return answers ? { text: prompt.toUpperCase(), tokens: 1 } : never(signal);
      },
    },
    tools: { call: async ({ signal }) => (answers ? { ok: true } : never(signal)) },
  };
}
