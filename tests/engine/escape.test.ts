/** What a Graph can reach: nothing of the machine, no clock, no chance, and nothing of another run. */
import t from 'tap';
import { createScriptedProvider } from '../../desktop-agent/engine/providers/scripted.ts';
import { graph, runGraph, testEngine } from './support.ts';

const provider = createScriptedProvider({ script: (prompt) => ({ text: `<${prompt}>`, tokens: 10 }) });
const engine = testEngine(t, { provider, limits: { cpuSliceMs: 2_000 } });

/** The message of what `expression` throws inside a Graph; other outcomes as they are. */
async function caught(expression: string): Promise<unknown> {
  const body = `try { const v = await (${expression}); return ['value', typeof v, String(v)] } catch (e) { return e.message }`;
  const outcome = await runGraph(engine, graph(body));
  return outcome.resultJson === null ? outcome.error : JSON.parse(outcome.resultJson);
}

t.test('nothing of Node or Deno is there', async (t) => {
  const names = [
    'process',
    'require',
    'module',
    'Deno',
    'Buffer',
    'global',
    'console',
    'XMLHttpRequest',
    'WebSocket',
    'Worker',
    'SharedArrayBuffer',
    'Atomics',
    'navigator',
    'std',
    'os',
    'print',
    'gc',
    'send',
    'toJson',
    'setup',
  ];
  const outcome = await runGraph(engine, graph(`return ${JSON.stringify(names)}.filter((name) => name in globalThis)`));
  t.equal(outcome.resultJson, '[]');
});

t.test('code cannot be made from text, by any constructor of functions', async (t) => {
  const attempts = [
    "(() => {}).constructor('return 1')()",
    "(async () => {}).constructor('return 1')()",
    "(function* () {}).constructor('yield 1')()",
    "(async function* () {}).constructor('yield 1')()",
    "new (class {}).constructor('return 1')()",
    "[].map.constructor('return 1')()",
    "agent.constructor('return 1')()",
    "parallel.constructor('return 1')()",
    "Object.getPrototypeOf(async () => {}).constructor('return 1')()",
    "Reflect.construct((() => {}).constructor, ['return 1'])()",
    "Function('return 1')()",
    "new Function('return 1')()",
    "eval('1')",
    "(0, eval)('1')",
    "globalThis.eval('1')",
    "new (class extends Function { constructor() { super('return 1') } })()",
  ];
  for (const attempt of attempts) t.match(await caught(attempt), /^a Graph cannot make code from text/, attempt);
});

t.test('what was taken away cannot be put back by deleting or defining it again', async (t) => {
  t.equal(await caught('delete globalThis.eval'), 'could not delete property');
  t.match(
    await caught("Object.defineProperty(Object.getPrototypeOf(() => {}), 'constructor', { value: 1 })"),
    /not configurable/,
  );
  t.same(await caught('(() => {}) instanceof Function'), ['value', 'boolean', 'true']);
});

t.test('there is no clock, no chance and no timer, and each says what to do instead', async (t) => {
  const attempts: [string, RegExp][] = [
    ['new Date()', /^a Graph has no clock: /],
    ['Date()', /^a Graph has no clock: /],
    ['Date.now()', /^a Graph has no clock: /],
    ["Date.parse('2020-01-01')", /^a Graph has no clock: /],
    ['performance.now()', /^a Graph has no clock: /],
    ['Math.random()', /^a Graph has no randomness: /],
    ['new WeakRef({})', /^a Graph cannot watch the garbage collector/],
    ['new FinalizationRegistry(() => {})', /^a Graph cannot watch the garbage collector/],
    ['setTimeout(() => {}, 1)', /^a Graph has no timers/],
    ['setInterval(() => {}, 1)', /^a Graph has no timers/],
    ["fetch('http://127.0.0.1')", /^a Graph has no network of its own/],
  ];
  for (const [attempt, message] of attempts) t.match(await caught(attempt), message, attempt);
});

t.test('import is refused before the Graph runs', async (t) => {
  t.match(await caught("import('node:fs')"), /cannot import/);
});

t.test('the functions of the prelude cannot be reached through a stack trace', async (t) => {
  const body = `const found = [];
    Error.prepareStackTrace = (_, sites) => { for (const site of sites) found.push(String(site.getFunction?.())); return 'x' };
    try { agent(5).catch(() => 0); new Error('x').stack; await agent('y') } catch {}
    return found`;
  t.equal((await runGraph(engine, graph(body))).resultJson, '[]');
});

t.test('a Graph that replaces built-ins changes only its own run', async (t) => {
  const sabotage = `
    JSON.stringify = () => '{"status":"completed","totalTokens":-5}';
    Object.prototype.toJSON = undefined;
    Promise.prototype.then = function () { return 'hijacked' };
    Array.prototype.push = () => { throw new Error('no push') };
    Array.isArray = () => true;
    String.prototype.slice = () => 'sliced';
    Object.defineProperty = () => { throw new Error('no define') };
    return { real: true };`;
  const outcome = await runGraph(engine, graph(sabotage));
  t.equal(outcome.events.at(-1)?.type, 'finished');
  t.equal(outcome.totalTokens, 0);
  const next = await runGraph(
    engine,
    graph("return [await agent('x'), JSON.stringify({ a: 1 }), typeof Object.prototype.toJSON]"),
  );
  t.equal(next.resultJson, '["<x>","{\\"a\\":1}","undefined"]');
});

t.test('a result that looks like an outcome is only a result', async (t) => {
  const outcome = await runGraph(
    engine,
    graph("return { type: 'failed', status: 'cancelled', totalTokens: 1e9, error: 'x', then: 5 }"),
  );
  t.match(outcome, { status: 'completed', totalTokens: 0, error: null });
  t.equal(JSON.parse(outcome.resultJson ?? '').status, 'cancelled');
});

t.test('nothing that one run leaves behind is there for the next', async (t) => {
  await runGraph(engine, graph('globalThis.leftover = 1; Array.prototype.leftover = 2; return 1'));
  t.equal(
    (await runGraph(engine, graph("return ['leftover' in globalThis, 'leftover' in []]"))).resultJson,
    '[false,false]',
  );
});

t.test('the host functions of the sandbox do not hand out host errors with paths of this machine', async (t) => {
  const body = 'try { await agent({}) } catch (e) { return e.stack + e.message }';
  const outcome = await runGraph(engine, graph(body));
  t.notMatch(outcome.resultJson, /desktop-agent|node_modules|node:/);
  t.match(outcome.resultJson, /prompt must be a text/);
});

t.test('a thenable as a result is settled like any other promise', async (t) => {
  t.match(await runGraph(engine, graph('return { then(resolve) { resolve({ ok: 1 }) } }')), { resultJson: '{"ok":1}' });
  t.match(await runGraph(engine, graph('return { then() {} }')), { status: 'failed', error: /can never happen/ });
});
