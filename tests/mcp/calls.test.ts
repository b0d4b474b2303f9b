import t from 'tap';
import { RelayError } from '../../protocol/errors.ts';
import { JSON_DEPTH } from '../../protocol/limits.ts';
import { AgentError } from '../../server/agent-api.ts';
import {
  answerOf,
  COMMAND,
  callTool,
  createWorld,
  ERAS,
  GOOD,
  postOf,
  refusalText,
  runView,
  SESSION,
  storeFailure,
  toolCall,
  UNKNOWN_COMMAND,
} from './fixtures.ts';

const RUN = { graph_session_id: SESSION, idempotency_key: 'key-12345' };

for (const era of ERAS) {
  t.test(`each tool reaches its call of the api with the caller and the checked input, in ${era}`, async (t) => {
    const world = createWorld();
    await callTool(world, era, ['list_graph_sessions']);
    await callTool(world, era, ['list_graph_sessions', { project_id: 'work', limit: 3 }]);
    await callTool(world, era, ['run_graph_session', { ...RUN, arguments: { to: ['a'] } }]);
    await callTool(world, era, ['run_graph_session', RUN]);
    await callTool(world, era, ['get_graph_run', { command_id: COMMAND }]);
    await callTool(world, era, ['cancel_graph_run', { command_id: COMMAND }]);
    t.strictSame(
      world.api.calls.map(({ method, agentId, request: { signal: _, ...request } }) => [method, agentId, request]),
      [
        ['listSessions', 'agent-good', { project_id: undefined, limit: 50 }],
        ['listSessions', 'agent-good', { project_id: 'work', limit: 3 }],
        ['runSession', 'agent-good', { ...RUN, arguments: { to: ['a'] } }],
        ['runSession', 'agent-good', { ...RUN, arguments: {} }],
        ['getRun', 'agent-good', { command_id: COMMAND, waitMs: 0, known: null }],
        ['cancelRun', 'agent-good', { command_id: COMMAND }],
      ],
    );
  });

  t.test(`an answer comes as data and in words, in ${era}`, async (t) => {
    const world = createWorld();
    const result = await callTool(world, era, ['run_graph_session', RUN]);
    const ticket = { ...runView(), replayed: false };
    t.strictSame(result.structuredContent, ticket);
    t.match(result.content, [{ type: 'text', text: new RegExp(`^command_id ${COMMAND}\\. Queued for `) }]);
    t.equal(result.content.length, 1);
    t.notOk(result.isError);
  });

  t.test(`an unknown run is answered with exactly the published text, in ${era}`, async (t) => {
    const world = createWorld();
    for (const tool of ['get_graph_run', 'cancel_graph_run']) {
      const text = await refusalText(world, era, [tool, { command_id: UNKNOWN_COMMAND }]);
      t.equal(text, 'Graph run not found or access removed');
    }
  });

  t.test(`an error of the relay carries its code, in ${era}`, async (t) => {
    const world = createWorld();
    world.api.failure = storeFailure();
    const text = await refusalText(world, era, ['run_graph_session', RUN]);
    t.equal(text, 'The disk refuses writes. Try again later. [store-unavailable]');
  });

  t.test(`a fault is told neutrally and logged in full, in ${era}`, async (t) => {
    const world = createWorld();
    const fault = new TypeError('cannot read /secret/path');
    world.api.failure = fault;
    const text = await refusalText(world, era, ['run_graph_session', RUN]);
    t.match(text, /^The relay failed to handle the request\. .*\[internal\]$/);
    t.match(world.lines, [
      { level: 'error', event: 'mcp.fault', fields: { tool: 'run_graph_session', agent_id: 'agent-good' } },
      { event: 'mcp.call', fields: { ok: false } },
    ]);
    t.equal(world.lines[0]?.fields.err, fault);
  });

  t.test(`an unknown tool is a protocol error that names the tools there are, in ${era}`, async (t) => {
    const world = createWorld();
    for (const name of ['delete_everything', 'toString', '__proto__']) {
      const answer = await answerOf(await world.endpoint.fetch(postOf(toolCall(era, name), { token: GOOD })));
      t.match(answer, { id: 7, error: { code: -32_602, message: /no such tool.*get_graph_run/ } });
    }
  });

  t.test(`text comes back as it was, whatever ends lines or looks like markup, in ${era} (C134)`, async (t) => {
    const odd = 'a\u0085b\u2028c\u2029d\r\ne\nf\u0000 data: x\n\nevent: y 报告 🚀 \ud83d </script>';
    const result = { odd, [odd]: [odd], nested: JSON.parse('{"__proto__": {"x": 1}}') };
    for (const wait_seconds of [0, 1]) {
      const world = createWorld();
      world.api.run = { status: 'completed', result };
      const request = postOf(toolCall(era, 'get_graph_run', { command_id: COMMAND, wait_seconds }), { token: GOOD });
      const text = await (await world.endpoint.fetch(request)).text();
      if (wait_seconds > 0) t.notMatch(text, /[\u0085\u2028\u2029\r]/, 'nothing in an event stream looks like its end');
      const json = wait_seconds > 0 ? /^data: (.*)$/m.exec(text)![1]! : text;
      const { structuredContent, content } = JSON.parse(json).result;
      t.equal(JSON.stringify(structuredContent.result), JSON.stringify(result));
      t.equal(content[1].text, JSON.stringify(result));
    }
  });
}

t.test('an id is taken in any case, and no other form is guessed at (C124)', async (t) => {
  const world = createWorld();
  await callTool(world, '2025', ['get_graph_run', { command_id: COMMAND.toUpperCase() }]);
  await callTool(world, '2025', ['cancel_graph_run', { command_id: COMMAND.toUpperCase() }]);
  await callTool(world, '2025', ['run_graph_session', { ...RUN, graph_session_id: SESSION.toUpperCase() }]);
  t.strictSame(
    world.api.calls.map(({ request }) => request.command_id ?? request.graph_session_id),
    [COMMAND, COMMAND, SESSION],
  );
  for (const tool of ['get_graph_run', 'cancel_graph_run']) {
    for (const command_id of [`{${COMMAND}}`, ` ${COMMAND}`, `${COMMAND}\n`, COMMAND.slice(0, 8), '', SESSION]) {
      const text = await refusalText(world, '2025', [tool, { command_id }]);
      t.match(text, /^command_id is not an id: expected a UUID/, JSON.stringify(command_id));
    }
  }
  t.equal(world.api.calls.length, 3);
});

const REFUSED: readonly (readonly [string, unknown, RegExp])[] = [
  ['list_graph_sessions', { limit: 0 }, /^limit must be at least 1\. Nothing was done\./],
  ['list_graph_sessions', { limit: 51 }, /^limit must be at most 50\./],
  ['list_graph_sessions', { limit: 2.5 }, /^limit must be a whole number\./],
  ['list_graph_sessions', { limit: '5' }, /^limit must be a number\./],
  ['list_graph_sessions', { project_id: '../x' }, /^project_id is not a project id: expected/],
  ['run_graph_session', {}, /^graph_session_id is required; idempotency_key is required\./],
  ['run_graph_session', { ...RUN, graph_session_id: 'mail' }, /^graph_session_id is not a Graph session id/],
  ['run_graph_session', { ...RUN, idempotency_key: 'short' }, /^idempotency_key must have at least 8 characters\./],
  ['run_graph_session', { ...RUN, idempotency_key: 'x'.repeat(129) }, /^idempotency_key must have at most 128 char/],
  ['run_graph_session', { ...RUN, idempotency_key: 12_345_678 }, /^idempotency_key must be a string\./],
  ['run_graph_session', { ...RUN, arguments: [1] }, /^arguments must be a JSON object\./],
  ['run_graph_session', { ...RUN, arguments: '{}' }, /^arguments must be a JSON object\./],
  ['run_graph_session', { ...RUN, args: {} }, /^args is not an input of this tool\..*arguments, idempotency_key \(req/],
  ['get_graph_run', { command_id: 7 }, /^command_id must be a string\./],
  ['get_graph_run', { command_id: null }, /^command_id must be a string\./],
  ['cancel_graph_run', { command_id: COMMAND, wait_seconds: 1 }, /^wait_seconds is not an input of this tool\./],
];

for (const [tool, input, expected] of REFUSED) {
  t.test(`${tool} refuses ${JSON.stringify(input).slice(0, 60)} in words that a model can act on`, async (t) => {
    const world = createWorld();
    const text = await refusalText(world, '2025', [tool, input]);
    t.match(text, expected);
    t.match(text, new RegExp(`${tool} takes .*Correct the call and send it again\\.$`));
    t.notMatch(text, /\bat \S+:\d+|Zod|Invalid input/);
    t.strictSame(world.api.calls, []);
  });
}

t.test('a refusal stays short, however much is wrong', async (t) => {
  const flood = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`${'x'.repeat(300)}${index}`, index]));
  const text = await refusalText(createWorld(), '2025', ['run_graph_session', flood]);
  t.ok(text.length < 600, text);
});

t.test('arguments are taken as deep as the limit and refused beyond, at any depth that fits a body', async (t) => {
  const nested = (levels: number) => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
  const world = createWorld();
  const fits = { ...RUN, arguments: { a: nested(JSON_DEPTH - 1) } };
  t.notOk((await callTool(world, '2025', ['run_graph_session', fits])).isError);
  for (const levels of [JSON_DEPTH, 5_000, 200_000]) {
    const body = JSON.stringify(toolCall('2025', 'run_graph_session', { ...RUN, arguments: { a: 'HERE' } }));
    const deep = body.replace('"HERE"', `${'['.repeat(levels)}${']'.repeat(levels)}`);
    const { result } = await answerOf(await world.endpoint.fetch(postOf(deep, { token: GOOD })));
    t.match(result, { isError: true, content: [{ text: /^arguments is nested deeper than 64 levels\./ }] });
  }
  t.equal(world.api.calls.length, 1);
});

for (const [asked, granted] of [
  [0, 0],
  [1, 1],
  [2.5, 2.5],
  [20, 20],
  [50, 50],
  [59, 50],
  [600, 50],
  [1e9, 50],
  [20_000, 50],
] as const) {
  t.test(`a wait of ${asked} s becomes one of ${granted} s, and a cut is told (C66, C84, C85)`, async (t) => {
    const world = createWorld();
    const result = await callTool(world, '2025', ['get_graph_run', { command_id: COMMAND, wait_seconds: asked }]);
    t.equal(world.api.calls[0]?.request.waitMs, granted * 1_000);
    t.equal(result.structuredContent.wait_seconds_granted, asked === granted ? undefined : granted);
    t.ok(result.content[0].text.length < 700, 'a still-running answer is short');
  });
}

for (const wrong of ['"20"', '-1', 'null', '1e999', 'true', '[1]']) {
  t.test(`a wait of ${wrong} is refused (C85)`, async (t) => {
    const world = createWorld();
    const body = JSON.stringify(toolCall('2025', 'get_graph_run', { command_id: COMMAND, wait_seconds: 'HERE' }));
    const response = await world.endpoint.fetch(postOf(body.replace('"HERE"', wrong), { token: GOOD }));
    t.match((await answerOf(response)).result, { isError: true, content: [{ text: /^wait_seconds must be / }] });
    t.strictSame(world.api.calls, []);
  });
}

for (const era of ERAS) {
  t.test(`a run that ends during the wait is told at once, in ${era} (C85)`, async (t) => {
    const world = createWorld();
    const { promise, resolve } = Promise.withResolvers<void>();
    world.api.before = () => promise;
    const call = callTool(world, era, ['get_graph_run', { command_id: COMMAND, wait_seconds: 50 }]);
    world.api.run = { status: 'completed', result: 'done' };
    resolve();
    t.match((await call).structuredContent, { status: 'completed', result: 'done' });
  });

  for (const wait_seconds of [0, 50]) {
    t.test(`a caller that drops a call of ${wait_seconds} s ends it on the server, in ${era}`, async (t) => {
      const world = createWorld();
      const arrived = Promise.withResolvers<AbortSignal>();
      world.api.before = async ({ request }) => {
        const signal = request.signal as AbortSignal;
        arrived.resolve(signal);
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      };
      const caller = new AbortController();
      const input = { command_id: COMMAND, wait_seconds };
      const request = postOf(toolCall(era, 'get_graph_run', input), { token: GOOD, signal: caller.signal });
      const response = world.endpoint.fetch(request);
      const signal = await arrived.promise;
      t.equal(signal.aborted, false);
      caller.abort();
      await response;
      t.equal(signal.aborted, true);
    });
  }

  t.test(`a caller that stops reading the stream of a held call ends it on the server, in ${era}`, async (t) => {
    const world = createWorld();
    const ended = Promise.withResolvers<void>();
    world.api.before = async ({ request }) => {
      (request.signal as AbortSignal).addEventListener('abort', () => ended.resolve());
      await ended.promise;
    };
    const input = { command_id: COMMAND, wait_seconds: 50 };
    const response = await world.endpoint.fetch(postOf(toolCall(era, 'get_graph_run', input), { token: GOOD }));
    await response.body!.cancel();
    await ended.promise;
    t.pass('the wait ended');
  });
}

t.test('each call leaves one line in the log, without arguments, results or tokens', async (t) => {
  const world = createWorld();
  world.clock.stepMs = 12;
  world.api.run = { result: 'the-result' };
  const input = { ...RUN, idempotency_key: 'the-secret-key', arguments: { password: 'the-password' } };
  await callTool(world, '2025', ['run_graph_session', input]);
  await callTool(world, '2026', ['get_graph_run', { command_id: UNKNOWN_COMMAND }]);
  await callTool(world, '2026', ['get_graph_run', { command_id: 'the-wrong-id' }]);
  world.api.failure = new AgentError('the-refusal');
  await callTool(world, '2025', ['list_graph_sessions']);
  world.api.failure = new RelayError('queue-full', 'the-queue');
  await callTool(world, '2025', ['run_graph_session', RUN]);
  const line = (tool: string, ok: boolean) => ({
    level: 'info',
    event: 'mcp.call',
    fields: { tool, agent_id: 'agent-good', duration_ms: 12, ok },
  });
  t.strictSame(world.lines, [
    line('run_graph_session', true),
    line('get_graph_run', false),
    line('get_graph_run', false),
    line('list_graph_sessions', false),
    line('run_graph_session', false),
  ]);
  t.notMatch(JSON.stringify(world.lines), /the-|gra_/);
});
