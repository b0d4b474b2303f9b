/** A schema is kept: the answer fits, or the agent fails with what is wrong; whatever provider is behind it. */
import t from 'tap';
import { AgentFailure, type AgentProvider, type AgentReply } from '../../desktop-agent/engine/agent-provider.ts';
import { createCommandProvider } from '../../desktop-agent/engine/providers/command.ts';
import { createScriptedProvider } from '../../desktop-agent/engine/providers/scripted.ts';
import { withStructuredAnswers } from '../../desktop-agent/engine/structured-answers.ts';
import { systemClock } from '../../protocol/host/system-ports.ts';
import { graph, runGraph, testEngine } from '../engine/support.ts';
import { failure, request } from './support.ts';

const PERSON = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0 } },
  required: ['name', 'age'],
  additionalProperties: false,
};
const ADA = '{"name":"Ada","age":36}';

/** Answers one after another, and keeps the prompts. */
function listed(...answers: readonly (string | AgentReply | Error)[]): AgentProvider & { readonly prompts: string[] } {
  const prompts: string[] = [];
  return {
    prompts,
    async ask({ prompt }) {
      prompts.push(prompt);
      const answer = answers[prompts.length - 1] ?? new Error('asked too often');
      if (answer instanceof Error) throw answer;
      return typeof answer === 'string' ? { text: answer, tokens: 10 } : answer;
    },
  };
}

function ask(inner: AgentProvider, schema: Record<string, unknown> = PERSON): Promise<AgentReply> {
  return withStructuredAnswers(inner).ask(request({ schema }));
}

t.test('without a schema nothing is changed', async (t) => {
  const inner = listed('any text');
  t.same(await withStructuredAnswers(inner).ask(request()), { text: 'any text', tokens: 10 });
  t.same(inner.prompts, ['What is a graph?']);
});

t.test('the prompt carries the schema, but for a provider that tells its model itself', async (t) => {
  const inner = listed(ADA, ADA);
  t.same(await ask(inner), { text: ADA, tokens: 10 });
  t.ok(inner.prompts[0]?.includes(JSON.stringify(PERSON)));
  await withStructuredAnswers(inner, { schemaInPrompt: false }).ask(request({ schema: PERSON }));
  t.equal(inner.prompts[1], 'What is a graph?');
});

t.test('the JSON is found in a fence, in prose and after loud thinking', async (t) => {
  const pretty = JSON.stringify(JSON.parse(ADA), null, 2);
  for (const answer of [
    ` ${pretty}\n`,
    `\`\`\`json\n${pretty}\n\`\`\``,
    `Here it is:\n\n\`\`\`\n${pretty}\n\`\`\`\nAnything else?`,
    `\`\`\`json\n{"name": "wrong"}\n\`\`\`\nNo, rather:\n\`\`\`json\n${pretty}\n\`\`\``,
    `Sure! ${ADA} (that is Ada)`,
    `<think>{"name": 1} or so?</think>\n${ADA}`,
  ]) {
    t.equal((await ask(listed(answer))).text, ADA, answer);
  }
  t.equal((await ask(listed('[1, 2]'), { type: 'array', items: { type: 'integer' } })).text, '[1,2]');
  t.equal((await ask(listed('42'), { type: 'integer' })).text, '42');
});

t.test('an answer that does not fit is asked for again with what is wrong, and all tries are paid', async (t) => {
  const inner = listed(
    'I think it is Ada.',
    { text: '{"name":"Ada","age":-1}', tokens: 20, costUsd: 0.5 },
    {
      text: ADA,
      tokens: 30,
      costUsd: 0.25,
    },
  );
  t.same(await ask(inner), { text: ADA, tokens: 60, costUsd: 0.75 });
  t.match(inner.prompts[1], /^What is a graph\?\n[\s\S]*I think it is Ada\.[\s\S]*cannot be used: it is not JSON\./);
  t.match(inner.prompts[2], /"age":-1[\s\S]*cannot be used: answer\.age: /);
  t.ok(inner.prompts[2]?.includes(JSON.stringify(PERSON)), 'the schema is said again');
  t.notMatch(inner.prompts[2], /I think it is Ada/, 'the prompt does not grow with each try');
});

t.test('after two repairs it has failed, with the problems and what was paid', async (t) => {
  const inner = listed('no', 'no', '{"name":"Ada"}', ADA);
  const error = await failure(ask(inner));
  t.type(error, AgentFailure);
  t.match(error, {
    tokens: 30,
    message: /^the answer does not fit its schema, asked for 3 times: answer: .*age/,
  });
  t.equal(inner.prompts.length, 3);
});

t.test('a provider that fails in a repair: what was paid before counts', async (t) => {
  const plain = await failure(ask(listed('no', new Error('the line is dead'))));
  t.type(plain, AgentFailure);
  t.match(plain, { message: 'the line is dead', tokens: 10 });
  const paid = await failure(ask(listed('no', new AgentFailure('cut off', { tokens: 7, costUsd: 1 }))));
  t.match(paid, { message: 'cut off', tokens: 17, costUsd: 1 });
  const first = new Error('the line is dead');
  t.equal(await failure(ask(listed(first))), first, 'nothing was paid: the error is as it was');
});

t.test('a schema that is none is refused before anything is asked', async (t) => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [[], /must be a JSON Schema: an object/],
    [{ type: 'string', pattern: '(' }, /a pattern that is no regular expression/],
    [{ $ref: 'https://models.example/schema.json' }, /refers to another document/],
    [{ description: 'x'.repeat(20_001) }, /characters of JSON, and may have 20000/],
    [{ $ref: '#/$defs/none' }, /cannot be used/],
  ];
  for (const [schema, says] of cases) {
    const inner = listed(ADA);
    t.match((await failure(ask(inner, schema as Record<string, unknown>))).message, says);
    t.equal(inner.prompts.length, 0);
  }
});

t.test('where answers are checked elsewhere, that decides', async (t) => {
  const inner = listed('{"a":1}', 'Well: {"a":2}');
  const checkedThere: string[] = [];
  const problemOf = async (answer: string) => {
    checkedThere.push(answer);
    return answer === '{"a":2}' ? null : 'answer.a: too small';
  };
  const reply = await withStructuredAnswers(inner).ask(request({ schema: { type: 'string' }, problemOf }));
  t.same(reply, { text: '{"a":2}', tokens: 20 });
  t.same(checkedThere, ['{"a":1}', '{"a":2}']);
  t.match(inner.prompts[1], /cannot be used: answer\.a: too small\./);
  const broken = async () => Promise.reject(new Error('the worker is gone'));
  const paid = await failure(withStructuredAnswers(listed('{}')).ask(request({ schema: {}, problemOf: broken })));
  t.match(paid, { message: 'the worker is gone', tokens: 10 });
});

t.test('an answer that is made to be slow to read is read in no time', async (t) => {
  const fences = `\`\`\`${'\n'.repeat(200_000)}`;
  const opened = '```json\n'.repeat(50_000);
  for (const answer of [fences, opened, '[{'.repeat(100_000), `<think>${' '.repeat(200_000)}`]) {
    t.match((await failure(ask(listed(answer, answer, answer)))).message, /it is not JSON$/);
  }
});

t.test('deep JSON is refused, not followed', async (t) => {
  const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`;
  const error = await failure(ask(listed(deep, deep, deep), { type: 'array' }));
  t.match(error.message, /it is nested deeper than 64 levels/);
});

t.test('a local program is repaired like any other provider', async (t) => {
  const script = `
    const prompt = require('node:fs').readFileSync(0, 'utf8');
    process.stdout.write(prompt.includes('cannot be used') ? '${ADA}' : 'Ada, I guess');
  `;
  const program = createCommandProvider({
    command: [process.execPath, '-e', script],
    timeoutMs: 600_000,
    clock: systemClock,
  });
  const reply = await ask(program);
  t.equal(reply.text, ADA);
  t.ok(reply.tokens > JSON.stringify(PERSON).length / 2, 'two prompts with the schema were counted');
});

t.test('the script answers a schema with a value that fits it', async (t) => {
  const scripted = withStructuredAnswers(createScriptedProvider(), { schemaInPrompt: false });
  const schemas: readonly Record<string, unknown>[] = [
    PERSON,
    { type: 'array', items: { enum: ['low', 'high'] }, minItems: 2 },
    { type: 'object', properties: { next: { $ref: '#/$defs/n' } }, $defs: { n: { const: 7 } } },
    { type: 'string', minLength: 12 },
    { type: ['number', 'null'], exclusiveMinimum: 3 },
    { anyOf: [{ type: 'boolean' }, { type: 'string' }] },
  ];
  for (const schema of schemas) {
    const reply = await scripted.ask(request({ schema }));
    t.type(reply.text, 'string', reply.text);
  }
  const tree = {
    type: 'object',
    properties: Object.fromEntries('abcdefghij'.split('').map((n) => [n, { $ref: '#' }])),
  };
  t.ok((await createScriptedProvider().ask(request({ schema: tree }))).text.length < 100_000, 'and ends');
});

t.test('through the engine: what was paid for a failed answer is spent', async (t) => {
  const inner = listed('no', 'no', 'no');
  const structured = withStructuredAnswers(inner);
  const engine = testEngine(t, { provider: { ask: (asked) => structured.ask({ ...asked, schema: PERSON }) } });
  const run = await runGraph(
    engine,
    graph("return await agent('x').catch((error) => error.name + ': ' + error.message)"),
  );
  t.match(run, { status: 'completed', totalTokens: 30, resultJson: /AgentError: the answer does not fit its schema/ });
});
