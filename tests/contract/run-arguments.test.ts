import t from 'tap';
import { answerOf, createWorld, ERAS, type Era, GOOD, postOf, SESSION, toolCall } from '../mcp/fixtures.ts';

/** The result of run_graph_session with arguments whose JSON text is given. */
async function runWith(argumentsJson: string, era: Era = '2025') {
  const world = createWorld();
  const input = { graph_session_id: SESSION, idempotency_key: 'key-12345', arguments: 'HERE' };
  const body = JSON.stringify(toolCall(era, 'run_graph_session', input)).replace('"HERE"', argumentsJson);
  const headers: Record<string, string> =
    era === '2026'
      ? { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'run_graph_session' }
      : {};
  const { result } = await answerOf(await world.endpoint.fetch(postOf(body, { token: GOOD, headers })));
  return { result, calls: world.api.calls };
}

for (const era of ERAS) {
  for (const [argumentsJson, expected] of [
    ['{"id":2512292042121000001}', /^arguments\.id is 2512292042121000001, a number .*; send it as a string\./],
    ['{"a":[{"b":1e400}]}', /^arguments\.a\.0\.b is 1e400, .*send it as a string/],
    ['{"a":-9007199254740993}', /^arguments\.a is -9007199254740993/],
    ['{"a":2512292042121000001.0}', /^arguments\.a is 2512292042121000001\.0/],
    ['{"a":2.512292042121000001E18}', /^arguments\.a is 2\.512292042121000001E18/],
    ['{"a":1e-400}', /^arguments\.a is 1e-400/],
    ['{"a":"\\ud83d"}', /^arguments\.a holds a lone surrogate or a NUL character/],
    ['{"a":{"b\\u0000":1}}', /^arguments\.a\.b has a name with a lone surrogate/],
  ] as const) {
    t.test(`arguments of ${argumentsJson} are refused with the place and the way out, in ${era} (C122)`, async (t) => {
      const { result, calls } = await runWith(argumentsJson, era);
      t.equal(result.isError, true);
      t.match(result.content[0].text, expected);
      t.strictSame(calls, [], 'nothing was started');
    });
  }
}

t.test('numbers that JavaScript holds reach the Graph as they were written (C122)', async (t) => {
  for (const number of [
    '-0',
    '1.0',
    '0',
    '9007199254740991',
    '9007199254740992',
    '6.02214076e23',
    '1e21',
    '0.1',
    '-1.5e-7',
    '100e-2',
    '3.141592653589793238462643',
  ]) {
    const { calls } = await runWith(`{"n":${number}}`);
    const args = calls[0]?.request.arguments as { n: number } | undefined;
    t.equal(args?.n, Number(number), number);
  }
});

t.test('a member called __proto__ reaches the Graph (C121)', async (t) => {
  const text = '{"__proto__":{"x":1},"constructor":{"__proto__":2},"toString":3}';
  const { calls } = await runWith(text);
  t.equal(JSON.stringify(calls[0]?.request.arguments), text);
});

t.test('a refusal stays short, whatever is refused', async (t) => {
  const { result } = await runWith(`{"${'k'.repeat(10_000)}":${'9'.repeat(10_000)}}`);
  t.ok(result.content[0].text.length < 600, result.content[0].text);
});

t.test('a body of a megabyte of zeros and digits is judged in no time', async (t) => {
  const startedAt = performance.now();
  await runWith(`{"a":1${'0'.repeat(400_000)}1,"b":0.${'0'.repeat(400_000)}1}`);
  t.ok(performance.now() - startedAt < 2_000);
});

t.test('an inexact number elsewhere in the message is none of a tool', async (t) => {
  const world = createWorld();
  const body = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":9007199254740993}}}';
  const answer = await answerOf(await world.endpoint.fetch(postOf(body, { token: GOOD })));
  t.match(answer, { result: {} });
});
