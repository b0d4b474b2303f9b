/** `agent(prompt, { schema })`: the answer is a value that fits, or a clear error; the check harms nobody. */
import t from 'tap';
import type { AgentProvider, AgentRequest } from '../../desktop-agent/engine/agent-provider.ts';
import { graph, runGraph, startGraph, testEngine } from './support.ts';

const SCHEMA = "{ type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }";

/** Answers in turn, and keeps what it was asked. */
function answering(...texts: readonly string[]): AgentProvider & { readonly asked: AgentRequest[] } {
  const asked: AgentRequest[] = [];
  return {
    asked,
    ask: async (request) => {
      asked.push(request);
      return { text: texts[asked.length - 1] ?? '', tokens: 10 };
    },
  };
}

t.test('the provider gets the schema, and the Graph the value', async (t) => {
  const provider = answering('{"n":1}', '{"n":2}');
  const outcome = await runGraph(
    testEngine(t, { provider }),
    graph(`const a = await agent('x', { schema: ${SCHEMA} }); return [a.n, await agent('y')]`),
  );
  t.equal(outcome.resultJson, '[1,"{\\"n\\":2}"]');
  const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
  t.same(
    provider.asked.map((request) => request.schema),
    [schema, undefined],
  );
  t.match(
    outcome.events.filter(({ type }) => type === 'agent_started'),
    [{ schema }, { schema: undefined }],
  );
  t.match(
    outcome.events.find(({ type }) => type === 'agent_finished'),
    { ok: true, answer: '{"n":1}' },
  );
});

t.test('an answer that does not fit fails its agent with the place, and was paid for', async (t) => {
  const provider = answering('{"n":1.5}', '{}', 'certainly! {"n":1}', '{"n":1}');
  const body = `const r = []; for (let i = 0; i < 4; i++)
    r.push(await agent('x', { schema: ${SCHEMA} }).catch((e) => e.name + ': ' + e.message)); return r`;
  const outcome = await runGraph(testEngine(t, { provider }), graph(body));
  t.match(JSON.parse(outcome.resultJson ?? ''), [
    /^AgentError: the answer does not fit the schema: answer\.n: .*Expected "integer"/,
    /^AgentError: the answer does not fit the schema: answer: .*required property "n"/,
    /^AgentError: the answer does not fit the schema: it is no JSON text$/,
    { n: 1 },
  ]);
  t.equal(outcome.totalTokens, 40);
  t.match(
    outcome.events.filter(({ type }) => type === 'agent_finished'),
    [{ ok: false, answer: null, error: /does not fit/, tokens: 10 }, { ok: false }, { ok: false }, { ok: true }],
  );
});

t.test('a provider can ask what is wrong with an answer, and try again', async (t) => {
  const problems: unknown[] = [];
  const provider: AgentProvider = {
    ask: async ({ problemOf }) => {
      problems.push(await problemOf?.('{"n":"one"}'), await problemOf?.('{"n":1}'));
      return { text: '{"n":1}', tokens: 1 };
    },
  };
  const outcome = await runGraph(
    testEngine(t, { provider }),
    graph(`return (await agent('x', { schema: ${SCHEMA} })).n`),
  );
  t.equal(outcome.resultJson, '1');
  t.match(problems, [/^answer\.n: /, null]);
});

t.test('any JSON value may be asked for, and keys that mean something to JavaScript stay keys', async (t) => {
  const provider = answering('"yes"', '[1,2]', '{"__proto__":{"polluted":1}}');
  const body = `return [await agent('x', { schema: { enum: ['yes', 'no'] } }),
    await agent('x', { schema: { type: 'array', items: { type: 'number' } } }),
    Object.keys(await agent('x', { schema: { type: 'object' } })), ({}).polluted === undefined]`;
  const outcome = await runGraph(testEngine(t, { provider }), graph(body));
  t.equal(outcome.resultJson, '["yes",[1,2],["__proto__"],true]');
});

t.test('a schema that cannot be one is refused before anybody is asked', async (t) => {
  const provider = answering();
  const engine = testEngine(t, { provider });
  const doubling =
    "Object.fromEntries([...Array(31).keys()].map((i) => ['a' + i, i === 30 ? {} : { allOf: [0, 0].map(() => ({ $ref: '#/$defs/a' + (i + 1) })) }]))";
  const cases: [string, RegExp][] = [
    ["'text'", /`schema` must be a JSON Schema, an object/],
    ['[]', /`schema` must be a JSON Schema, an object/],
    ['null', /`schema` must be a JSON Schema, an object/],
    ["{ pattern: '(' }", /has a pattern that is no regular expression/],
    ["{ $ref: 'https://example.com/x' }", /refers to another document/],
    ["{ properties: { a: { $ref: '#' } } }", /refers to itself/],
    ["{ description: 'x'.repeat(20000) }", /characters of JSON, and may have 16000/],
    [`{ $ref: '#/$defs/a0', $defs: ${doubling} }`, /more than 5000 parts/],
    ['{ required: () => 1 }', /schema\.required is a function/],
  ];
  for (const [schema, message] of cases) {
    const outcome = await runGraph(engine, graph(`await agent('x', { schema: ${schema} })`));
    t.match(outcome, { status: 'failed', error: message }, schema);
    t.match(outcome.error, /^TypeError: /, schema);
  }
  t.equal(provider.asked.length, 0);
});

t.test('a schema whose check takes for ever ends its own run, and holds up nothing', async (t) => {
  const text = JSON.stringify(`${'a'.repeat(60)}b`);
  const provider: AgentProvider = { ask: async () => ({ text, tokens: 1 }) };
  const engine = testEngine(t, { provider, limits: { cpuSliceMs: 300, stuckMarginMs: 300 } });
  const bomb = "await agent('x', { schema: { type: 'string', pattern: '^(a+)+$' } })";
  t.match(await runGraph(engine, graph(bomb)), { status: 'failed', error: /computed for more than 0\.3 s/ });
  const patient = testEngine(t, { provider });
  const run = startGraph(patient, graph(bomb));
  while (!run.events.some(({ type }) => type === 'agent_started')) await new Promise(setImmediate);
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  t.notOk(
    run.events.some(({ type }) => type === 'agent_finished'),
    'it is checked still',
  );
  run.running.cancel('enough');
  t.match(await run.done, { status: 'cancelled', error: 'enough', totalTokens: 1 });
});

t.test('arguments whose check takes for ever end their own run, and hold up nothing', async (t) => {
  const engine = testEngine(t, { limits: { cpuSliceMs: 300, stuckMarginMs: 300 } });
  const meta = ", arguments: { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } }";
  const run = startGraph(engine, graph("log('never')", meta), { args: { a: `${'a'.repeat(60)}b` } });
  t.match(await run.done, { status: 'failed', error: /computed for more than 0\.3 s/ });
  t.notOk(run.events.some(({ type }) => type === 'log'));
});
