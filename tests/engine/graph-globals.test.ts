import t from 'tap';
import { createScriptedProvider } from '../../desktop-agent/engine/providers/scripted.ts';
import { graph, runGraph, testEngine } from './support.ts';

const provider = createScriptedProvider({
  script: (prompt) =>
    prompt.startsWith('fail') ? new Error(`cannot do: ${prompt}`) : { text: `<${prompt}>`, tokens: 10 },
});
const engine = testEngine(t, { provider });

t.test('a Graph gets its arguments and gives back what it returns, as JSON', async (t) => {
  const args = { text: 'ü😀', list: [1, null], nested: { __proto__x: 1 } };
  const outcome = await runGraph(engine, graph('return { args, meta };'), { args });
  t.match(outcome, { status: 'completed', error: null, totalTokens: 0, reportedCost: null });
  t.same(JSON.parse(outcome.resultJson ?? ''), { args, meta: { name: 'Test' } });
});

t.test('keys that mean something to JavaScript come back as they were sent', async (t) => {
  const argsJson = '{"__proto__":{"a":1},"constructor":2,"toString":3,"":4," ":5}';
  const outcome = await runGraph(engine, graph('return args;'), { args: JSON.parse(argsJson) });
  t.equal(outcome.resultJson, argsJson);
  t.equal(({} as Record<string, unknown>).a, undefined);
});

t.test('a Graph that returns nothing gives null', async (t) => {
  for (const body of ['', 'return', 'return undefined', 'await null']) {
    t.match(await runGraph(engine, graph(body)), { status: 'completed', resultJson: 'null' }, body);
  }
});

t.test('events are in order: fleet_started first, one finished last', async (t) => {
  const outcome = await runGraph(
    engine,
    graph("phase('One'); log('a'); await agent('p', { label: 'L' }); log({ b: 1 }); return 1"),
  );
  t.match(outcome.events, [
    { type: 'fleet_started', run_id: /^[0-9a-f-]{36}$/ },
    { type: 'phase', title: 'One' },
    { type: 'log', message: 'a' },
    { type: 'wave_started', wave: 1 },
    { type: 'agent_started', agent: 1, label: 'L', wave: 1 },
    { type: 'agent_finished', agent: 1, ok: true, tokens: 10 },
    { type: 'wave_finished', wave: 1, agents: 1, tokens: 10 },
    { type: 'log', message: '{"b":1}' },
    { type: 'finished', status: 'completed' },
  ]);
  t.equal(outcome.events.length, 9);
});

t.test('agent resolves to the answer and rejects with an error that the Graph can catch', async (t) => {
  const outcome = await runGraph(
    engine,
    graph(
      "const good = await agent('hi'); try { await agent('fail now') } catch (e) { return [good, e.name, e.message, e instanceof Error] }",
    ),
  );
  t.equal(outcome.resultJson, '["<hi>","AgentError","cannot do: fail now",true]');
});

t.test(
  "a failed agent that nobody catches fails the run with the provider's reason and the line that asked",
  async (t) => {
    const outcome = await runGraph(engine, graph("\n\n  await agent('fail now');"), { name: 'my graph.js' });
    t.match(outcome, {
      status: 'failed',
      resultJson: null,
      error: /^AgentError: cannot do: fail now \(at my graph\.js:3:\d+\)$/,
    });
  },
);

t.test('wrong arguments of agent are refused with a TypeError that says which', async (t) => {
  const calls: [string, RegExp][] = [
    ['agent()', /the prompt must be a text, not undefined/],
    ['agent(5)', /the prompt must be a text, not number/],
    ["agent('  ')", /the prompt is empty/],
    ["agent('x', 'label')", /the options must be an object/],
    ["agent('x', { lable: 'a' })", /no option `lable`/],
    ["agent('x', { label: 5 })", /`label` must be a text/],
  ];
  for (const [call, message] of calls) {
    const outcome = await runGraph(engine, graph(`return await ${call}`));
    t.equal(outcome.status, 'failed', call);
    t.match(outcome.error, /^TypeError: /);
    t.match(outcome.error, message);
    t.notOk(outcome.events.some((event) => event.type === 'agent_started'));
  }
});

t.test('parallel gives results in the order of its list', async (t) => {
  const outcome = await runGraph(engine, graph("return await parallel([() => agent('a'), async () => 2, () => 3])"));
  t.equal(outcome.resultJson, '["<a>",2,3]');
  t.equal((await runGraph(engine, graph('return await parallel([])'))).resultJson, '[]');
});

t.test('parallel waits for all of its list, then rejects with the first error in order', async (t) => {
  const body = `const seen = [];
    const note = (x) => async () => { const text = await agent(x).finally(() => seen.push(x)); return text };
    const late = async () => { await null; throw new Error('second in order, first in time') };
    try { await parallel([note('fail a'), () => { throw new Error('sync') }, note('b'), late]) } catch (e) { return [e.message, seen] }`;
  const outcome = await runGraph(engine, graph(body));
  t.equal(outcome.resultJson, '["cannot do: fail a",["fail a","b"]]');
});

t.test('parallel refuses what is not a list of functions, before anything starts', async (t) => {
  const one = await runGraph(engine, graph("return await parallel('x')"));
  t.match(one.error, /^TypeError: parallel\(list of functions\).*not a list/);
  const two = await runGraph(engine, graph("return await parallel([() => agent('a'), 5])"));
  t.match(two.error, /entry 1 is not a function; write `\(\) => agent/);
  t.notOk(two.events.some((event) => event.type === 'agent_started'));
});

t.test('budget tells the ceiling and what was spent', async (t) => {
  const body =
    "const before = [budget.total, budget.spent(), budget.remaining()]; await agent('a'); return [before, budget.spent(), budget.remaining()]";
  t.equal((await runGraph(engine, graph(body, ', limits: { total_tokens: 25 }'))).resultJson, '[[25,0,25],10,15]');
  // Infinity is null in JSON.
  t.equal((await runGraph(engine, graph(body))).resultJson, '[[null,0,null],10,null]');
  t.equal((await runGraph(engine, graph('return budget.remaining() === Infinity'))).resultJson, 'true');
});

t.test('the globals cannot be replaced or changed, but a Graph may use their names for its own', async (t) => {
  t.match(await runGraph(engine, graph('agent = () => 1')), { status: 'failed', error: /read-only/ });
  t.match(await runGraph(engine, graph('budget.total = 1e9')), { status: 'failed' });
  t.match(await runGraph(engine, graph("const log = 5; const phase = 'x'; return log")), { resultJson: '5' });
});

t.test('what JSON cannot hold fails the run and names its path (C119)', async (t) => {
  const cases: [string, RegExp][] = [
    ['return { a: [1, 5n] }', /result\.a\[1\] is a bigint/],
    ['return () => 1', /result is a function/],
    ['return { x: { run() {} } }', /result\.x\.run is a function/],
    ["return [Symbol('s')]", /result\[0\] is a symbol/],
    ['const a = { list: [] }; a.list.push(a); return a', /result\.list\[0\] refers back/],
    ['let deep = 1; for (let i = 0; i < 50000; i++) deep = [deep]; return deep', /nested deeper than 64 levels/],
    ["return { get x() { throw new Error('no look') } }", /no look/],
    ["return { toJSON() { throw new RangeError('no json') } }", /RangeError: no json/],
  ];
  for (const [body, message] of cases) {
    t.match(await runGraph(engine, graph(body)), { status: 'failed', resultJson: null, error: message }, body);
  }
});

t.test('a value that appears twice without a cycle is fine', async (t) => {
  const outcome = await runGraph(engine, graph('const s = { v: 1 }; return { a: s, b: [s, s], c: { s } }'));
  t.equal(outcome.resultJson, '{"a":{"v":1},"b":[{"v":1},{"v":1}],"c":{"s":{"v":1}}}');
});

t.test('lone surrogates and NULs in a result arrive as JSON escapes', async (t) => {
  const outcome = await runGraph(engine, graph(String.raw`return 'a\ud800b\0c'`));
  t.equal(outcome.resultJson, String.raw`"a\ud800b\u0000c"`);
});

t.test('an agent that nobody waits for is stopped with the run', async (t) => {
  const outcome = await runGraph(engine, graph("agent('a'); return 5"));
  t.match(outcome, { status: 'completed', resultJson: '5' });
  t.equal(outcome.events.at(-1)?.type, 'finished');
});
