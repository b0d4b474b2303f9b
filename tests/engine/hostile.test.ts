/** Graphs that take all they can. Each must end as failed with its reason, and the next run must work. */
import t from 'tap';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { DEFAULT_ENGINE_LIMITS } from '../../desktop-agent/engine/engine-limits.ts';
import { createScriptedProvider } from '../../desktop-agent/engine/providers/scripted.ts';
import { fromSandboxSchema } from '../../desktop-agent/engine/sandbox-messages.ts';
import { graph, heldProvider, runGraph, startGraph, testEngine, testPorts } from './support.ts';

const provider = createScriptedProvider({ script: (prompt) => ({ text: prompt.toUpperCase(), tokens: 1 }) });
const limits = { cpuSliceMs: 400, stuckMarginMs: 700 };
const engine = testEngine(t, { provider, limits });

const MEMORY = /^the Graph needed more than its 64 MiB of memory \(out of memory\)$/;
// On a loaded machine the watch from outside may come before the interpreter's own.
const COMPUTING =
  /^the Graph computed for more than 0\.4 s (without waiting for anything|inside one built-in call or one check of a schema)$/;
const STACK = /^RangeError: Maximum call stack size exceeded/;
// Enough time for a loop of 64 MiB before the CPU check says stop.
const patient = testEngine(t, { provider, limits: { cpuSliceMs: 60_000 } });

const fillMemory = 'const hog = []; for (;;) hog.push({ x: 1 });';
const attacks: [name: string, body: string, error: RegExp][] = [
  ['fills its memory', fillMemory, MEMORY],
  ['fills its memory after an await', `await agent('a'); ${fillMemory}`, MEMORY],
  ['fills its memory in a promise job', `await Promise.resolve().then(() => { ${fillMemory} })`, MEMORY],
  [
    'catches what stops it when its memory is full',
    `await agent('a'); for (;;) try { ${fillMemory} } catch {}`,
    MEMORY,
  ],
  ['makes a text of 100 MB', "return 'x'.repeat(100e6)", MEMORY],
  ['doubles a text for ever', "let s = 'x'; for (;;) s += s", /^InternalError: string too long/],
  ['makes a typed array of 1 GB', 'return new Uint8Array(1e9).length', /memory|RangeError/],
];
const loops: [name: string, body: string, error: RegExp][] = [
  ['loops', 'for (;;);', COMPUTING],
  ['loops after an await', "await agent('a'); for (;;);", COMPUTING],
  ['loops over awaits that nothing holds up', 'for (;;) await null', COMPUTING],
  ['loops in a catch and a finally', 'for (;;) try { for (;;); } catch {} finally { for (;;); }', COMPUTING],
  ['loops over refused agents', 'for (;;) await agent(5).catch(() => 0)', COMPUTING],
  ['loops in a regular expression', "return /^(a+)+$/.test('a'.repeat(60) + 'b')", COMPUTING],
  ['loops while its result is made into JSON', 'return { toJSON() { for (;;); } }', COMPUTING],
  ['loops while its error is described', 'throw { get message() { for (;;); } }', COMPUTING],
  [
    'hangs in a built-in that cannot be interrupted',
    "return 'a'.repeat(2e7).indexOf('a'.repeat(1e7) + 'b')",
    /inside one built-in call or one check of a schema$/,
  ],
  ['recurses for ever', 'const f = () => f() + 1; return f()', STACK],
  ['recurses for ever after an await', "await agent('a'); const f = () => f() + 1; return f()", STACK],
  ['recurses in a proxy', 'const p = new Proxy({}, { get: (_, k, r) => r[k] }); return p.x', STACK],
  ['recurses in a built-in', 'let a = []; for (let i = 0; i < 50000; i++) a = [a]; return String(a)', STACK],
  [
    'waits for a promise that never settles',
    'await new Promise(() => {})',
    /waits for something that can never happen/,
  ],
  [
    'waits for ever after an agent',
    "await agent('a'); await new Promise(() => {})",
    /waits for something that can never happen/,
  ],
];

for (const [name, body, error] of attacks) {
  t.test(`a Graph that ${name} fails, and the next run works (C110)`, async (t) => {
    t.match(await runGraph(patient, graph(body)), { status: 'failed', resultJson: null, error });
    t.match(await runGraph(patient, graph("return await agent('ok')")), { status: 'completed', resultJson: '"OK"' });
  });
}

for (const [name, body, error] of loops) {
  t.test(`a Graph that ${name} fails with its reason, and the next run works`, async (t) => {
    t.match(await runGraph(engine, graph(body)), { status: 'failed', resultJson: null, error });
    t.match(await runGraph(engine, graph("return await agent('ok')")), { status: 'completed', resultJson: '"OK"' });
  });
}

t.test(
  'the interpreter itself stops a Graph that computes too long, before the watch from outside would',
  async (t) => {
    const unwatched = testEngine(t, { provider, limits: { cpuSliceMs: 400, stuckMarginMs: 100_000 } });
    const error = /computed for more than 0\.4 s without waiting for anything$/;
    t.match(await runGraph(unwatched, graph('for (;;);')), { status: 'failed', error });
  },
);

t.test('a Graph can catch its own deep recursion and go on', async (t) => {
  const outcome = await runGraph(engine, graph('const f = () => f() + 1; try { f() } catch (e) { return e.name }'));
  t.match(outcome, { status: 'completed', resultJson: '"RangeError"' });
});

t.test('the host thread keeps turning while a Graph loops, and other runs complete', async (t) => {
  const relaxed = testEngine(t, { provider, limits: { cpuSliceMs: 600_000 } });
  const looping = startGraph(relaxed, graph("log('before'); for (;;);"), {
    onEvent: (event) => {
      if (event.type === 'log') loopStarted();
    },
  });
  let loopStarted: () => void = () => undefined;
  await new Promise<void>((resolve) => {
    loopStarted = resolve;
  });
  let loopEnded = false;
  void looping.done.then(() => {
    loopEnded = true;
  });
  // A loop on this thread would never let these turns come.
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  const other = await runGraph(engine, graph("return await agent('meanwhile')"));
  t.equal(other.resultJson, '"MEANWHILE"');
  t.equal(loopEnded, false, 'the loop still runs');
  looping.running.cancel('enough');
  t.match(await looping.done, { status: 'cancelled', error: 'enough' });
});

t.test('a flood of log lines is cut to a thousand and one that says so', async (t) => {
  const outcome = await runGraph(
    engine,
    graph("for (let i = 0; i < 5000; i++) log('line ' + i); phase('too late'); return 1"),
  );
  t.equal(outcome.status, 'completed');
  const lines = outcome.events.flatMap((event) => (event.type === 'log' ? [event.message] : []));
  t.equal(lines.length, 1_001);
  t.equal(lines[999], 'line 999');
  t.match(lines[1_000], /1000 log lines; the rest is dropped/);
  t.notOk(outcome.events.some((event) => event.type === 'phase'));
});

t.test('a long log line or phase is cut, and never inside a pair', async (t) => {
  const outcome = await runGraph(engine, graph("log('😀'.repeat(500000)); phase('x' + '😀'.repeat(5000)); return 1"));
  const shown = outcome.events.flatMap((event) =>
    event.type === 'log' ? [event.message] : event.type === 'phase' ? [event.title] : [],
  );
  t.equal(shown.length, 2);
  for (const text of shown) {
    t.ok(text.length <= 2_000 && text.length >= 1_998);
    t.ok(text.isWellFormed());
  }
});

t.test('a result by the megabyte is refused before it leaves the worker', async (t) => {
  const small = testEngine(t, { limits: { resultChars: 1_000 } });
  t.match(await runGraph(small, graph("return 'x'.repeat(999)")), {
    status: 'failed',
    error: /has 1001 characters of JSON; at most 1000/,
  });
  t.match(await runGraph(small, graph("return 'x'.repeat(998)")), { status: 'completed' });
  const outcome = await runGraph(testEngine(t), graph("return 'x'.repeat(20e6)"));
  t.match(outcome, { status: 'failed', resultJson: null, error: /has 20000002 characters/ });
});

t.test('any thrown value becomes a clean text (C116, C119)', async (t) => {
  const cases: [string, RegExp][] = [
    ['throw null', /^the Graph threw null$/],
    ['throw undefined', /^the Graph threw undefined$/],
    ['throw 42', /^the Graph threw 42$/],
    ["throw 'text'", /^text$/],
    ["throw Symbol('s')", /^the Graph threw Symbol\(s\)$/],
    ['throw { code: 5 }', /^the Graph threw \{"code":5\}$/],
    ['throw { toString() { throw 1 }, toJSON() { throw 2 } }', /^the Graph threw a value that cannot be shown$/],
    ['throw new Proxy({}, { has() { throw 1 }, get() { throw 2 } })', /^the Graph threw a value that cannot be shown$/],
    [
      "const e = new Error('x'); Object.defineProperty(e, 'message', { get() { throw e } }); throw e",
      /cannot be shown$/,
    ],
    [
      "let e; for (let i = 0; i < 5000; i++) e = new Error('e' + i, { cause: e }); throw e",
      /^e4999 \(at .*\), caused by: e4998, .*e4995$/,
    ],
    ["const e = new Error('round'); e.cause = e; throw e", /^round \(at .*\), caused by: round/],
    ["throw new Error('')", /^Error: {2}\(at test\.js:1:\d+\)$/],
    ['\n\n  null.foo', /^TypeError: cannot read property 'foo' of null \(at test\.js:3:\d+\)$/],
  ];
  for (const [body, error] of cases) t.match(await runGraph(engine, graph(body)), { status: 'failed', error }, body);
});

t.test('an error text with NULs, lone surrogates and megabytes is cleaned and cut (C116)', async (t) => {
  const { error, status } = await runGraph(engine, graph(String.raw`throw new Error('a\0b\ud800' + '😀'.repeat(1e6))`));
  t.equal(status, 'failed');
  t.ok(error?.startsWith('ab\ufffd😀'));
  t.ok(error?.isWellFormed());
  t.ok((error?.length ?? 9_999) <= 2_000);
  t.notOk(error?.includes('\0'));
});

t.test('a run that takes longer than its wall time fails, and its agent is told', async (t) => {
  const clock = new VirtualClock();
  const held = heldProvider();
  const engine = testEngine(t, { provider: held, ports: { ...testPorts, clock } });
  const run = startGraph(engine, graph("await agent('x')", ', limits: { wall_ms: 2_000 }'));
  await held.until(1);
  await clock.advance(1_999);
  t.notOk(held.held[0]?.signal.aborted);
  await clock.advance(1);
  t.match(await run.done, { status: 'failed', error: 'the run took longer than its 2000 ms' });
  t.ok(held.held[0]?.signal.aborted);
  t.match(run.events.slice(-3), [
    { type: 'agent_finished', ok: false },
    { type: 'wave_finished', wave: 1, agents: 1 },
    { type: 'finished', status: 'failed' },
  ]);
});

t.test('messages of another shape than the agreed one are not accepted from a worker', async (t) => {
  const schema = fromSandboxSchema({ ...DEFAULT_ENGINE_LIMITS, resultChars: 10, promptChars: 10, retryWaitMs: 5 });
  const agent = { type: 'agent', id: 1, slice: 1, prompt: 'p', label: '', model: null, schema: null };
  const tool = { type: 'tool', id: 1, tool: 'a.b', input: '1' };
  const called = { type: 'graph', id: 1, reference: 'a', args: '{}' };
  const retry = { type: 'retry', id: 1, attempt: 1, attempts: 2, waitMs: 5, error: 'e' };
  for (const good of [
    agent,
    { ...agent, schema: '{}' },
    tool,
    called,
    retry,
    { type: 'returned', json: '1' },
    { type: 'failed', reason: '', final: false },
    { type: 'ready' },
  ]) {
    t.ok(schema.safeParse(good).success, JSON.stringify(good));
  }
  const bad = [
    null,
    'returned',
    { type: 'returned' },
    { type: 'returned', json: { a: 1 } },
    { type: 'returned', json: 'x'.repeat(11) },
    { type: 'returned', json: '1', totalTokens: 0 },
    { ...agent, schema: '[]' },
    { ...agent, schema: 'no JSON' },
    { ...agent, schema: { type: 'object' } },
    { ...tool, input: { a: 1 } },
    { ...tool, input: '['.repeat(100) + ']'.repeat(100) },
    { ...called, args: '5' },
    { ...retry, waitMs: 6 },
    { ...retry, attempts: 6 },
    { ...agent, id: 0 },
    { ...agent, id: 1.5 },
    { ...agent, prompt: 'x'.repeat(11) },
    { ...agent, prompt: ['x'] },
    { type: 'cancel' },
  ];
  for (const message of bad) t.notOk(schema.safeParse(message).success, JSON.stringify(message));
});
