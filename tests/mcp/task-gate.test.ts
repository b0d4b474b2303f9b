/** Who is served tasks, and that nobody else notices them. */
import t from 'tap';
import {
  answerOf,
  COMMAND,
  createWorld,
  declaring,
  GOOD,
  message,
  NO_SCOPE,
  type PostOptions,
  postOf,
  READ_ONLY,
  type RpcMessage,
  RUN_ONLY,
  runView,
  SESSION,
  storeFailure,
  toolCall,
  type World,
} from './fixtures.ts';
import { DECLARED, TASKS } from './task-client.ts';

const RUN = { graph_session_id: SESSION, idempotency_key: 'key-12345' };
const START = toolCall('2026', 'run_graph_session', RUN);

function taskCall(method: string, params: Record<string, unknown> = { taskId: COMMAND }): RpcMessage {
  return declaring(message('2026', method, params), DECLARED);
}

const LISTEN = taskCall('subscriptions/listen', { notifications: { taskIds: [COMMAND] } });

async function ask(world: World, body: object, options: PostOptions = { token: GOOD }) {
  const response = await world.endpoint.fetch(postOf(body, options));
  return { status: response.status, headers: response.headers, ...(await answerOf(response)) };
}

const METHODS = ['tasks/get', 'tasks/update', 'tasks/cancel', 'tasks/list', 'tasks/result'];

t.test('all about tasks needs a token', async (t) => {
  const world = createWorld();
  const old = METHODS.map((method) => message('2025', method, { taskId: COMMAND }));
  for (const body of [
    ...METHODS.map((method) => taskCall(method)),
    ...old,
    LISTEN,
    [message('2025', 'ping'), old[0]!],
  ]) {
    const { status, headers } = await ask(world, body, {});
    t.equal(status, 401);
    t.match(headers.get('www-authenticate'), /^Bearer .*scope="osfoundry:read osfoundry:run"/);
  }
  t.equal((await ask(world, LISTEN, { token: 'gra_unknown' })).status, 401);
  t.strictSame(world.api.calls, []);
});

t.test('looking needs the scope to read, all else the scope to run', async (t) => {
  for (const [token, may] of [
    [NO_SCOPE, []],
    [READ_ONLY, ['tasks/get', 'subscriptions/listen']],
    [RUN_ONLY, ['tasks/get', 'subscriptions/listen', 'tasks/update', 'tasks/cancel']],
  ] as const) {
    const world = createWorld();
    world.api.run = { status: 'completed', result: 1 };
    for (const body of [taskCall('tasks/get'), taskCall('tasks/update'), taskCall('tasks/cancel'), LISTEN]) {
      const allowed = (may as readonly string[]).includes(body.method);
      t.equal((await ask(world, body, { token })).status, allowed ? 200 : 403, `${token} ${body.method}`);
    }
  }
});

t.test(
  'a client that does not declare tasks with the request gets no task, and the error that says what is missing',
  async (t) => {
    const world = createWorld();
    for (const capabilities of [{}, { extensions: {} }, { extensions: { other: {} } }, { tasks: {} }]) {
      for (const { method, params } of [
        taskCall('tasks/get'),
        taskCall('tasks/update'),
        taskCall('tasks/cancel'),
        LISTEN,
      ]) {
        const body = declaring(message('2026', method, params), capabilities);
        const { status, error } = await ask(world, body);
        t.equal(status, 400);
        const missing = { requiredCapabilities: { extensions: { [TASKS]: {} } } };
        t.match(error, { code: -32_021, message: /get_graph_run and cancel_graph_run do the same/, data: missing });
      }
    }
    t.strictSame(world.api.calls, []);
  },
);

const TICKET = JSON.stringify({ ...runView(), replayed: false });
const TEXT = `command_id ${COMMAND}. Queued for 0 s, next in line; desktop online over long-poll. Call get_graph_run with wait_seconds, or in 10 s.`;
const SERVER =
  '"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"graph-relay","title":"Graph Relay","version":"1.2.3"}}';
const CONTENT = `"content":[{"type":"text","text":"${TEXT}"}],"structuredContent":${TICKET}`;

t.test('for all other clients a start is answered byte for byte as without tasks', async (t) => {
  const plain = `{"result":{${CONTENT},"resultType":"complete",${SERVER}},"jsonrpc":"2.0","id":7}`;
  for (const capabilities of [{}, { extensions: { other: {} } }, { sampling: {} }]) {
    const response = await createWorld().endpoint.fetch(postOf(declaring(START, capabilities), { token: GOOD }));
    t.equal(await response.text(), plain);
  }
  const old = toolCall('2025', 'run_graph_session', RUN);
  const response = await createWorld().endpoint.fetch(postOf(old, { token: GOOD }));
  t.equal(await response.text(), `{"result":{${CONTENT}},"jsonrpc":"2.0","id":7}`);
});

t.test('a client of 2025 hears nothing of tasks, whatever it declares', async (t) => {
  const world = createWorld();
  const params = { protocolVersion: '2025-11-25', capabilities: DECLARED, clientInfo: { name: 'a', version: '1' } };
  const { result } = await ask(world, message('2025', 'initialize', params));
  t.strictSame(result.capabilities, { tools: {} });
  for (const method of METHODS) {
    t.match(await ask(world, message('2025', method, { taskId: COMMAND })), { error: { code: -32_601 } });
  }
});

t.test('a client of 2026 finds the extension where it looks for it', async (t) => {
  const { result } = await ask(createWorld(), message('2026', 'server/discover'), {});
  t.strictSame(result.capabilities, { tools: {}, extensions: { [TASKS]: {} } });
  t.match(await ask(createWorld(), taskCall('tasks/list')), { status: 404, error: { code: -32_601 } });
});

t.test('a start by a client that declares tasks is answered with the task', async (t) => {
  const { result } = await ask(createWorld(), declaring(START, DECLARED));
  const { _meta, ...task } = result;
  t.strictSame(task, {
    content: [],
    resultType: 'task',
    taskId: COMMAND,
    status: 'working',
    statusMessage: 'Queued for 0 s, next in line; desktop online over long-poll.',
    createdAt: '2026-11-08T10:00:00.000Z',
    lastUpdatedAt: '2026-11-08T10:00:00.000Z',
    ttlMs: 24 * 3_600_000,
    pollIntervalMs: 10_000,
  });
});

t.test('wrong parameters are refused, and a fault gives nothing away', async (t) => {
  const world = createWorld();
  for (const params of [{}, { taskId: 7 }, { taskId: null }]) {
    t.match(await ask(world, taskCall('tasks/get', params)), { error: { code: -32_602, message: /taskId/ } });
  }
  t.strictSame(world.api.calls, []);
  world.api.failure = storeFailure();
  const refusal = { code: -32_603, message: 'The disk refuses writes. Try again later. [store-unavailable]' };
  t.match(await ask(world, taskCall('tasks/get')), { error: refusal });
  world.api.failure = new Error('the-secret-detail');
  for (const body of [taskCall('tasks/get'), taskCall('tasks/cancel'), LISTEN]) {
    const { error } = await ask(world, body);
    t.match(error, { code: -32_603, message: /\[internal\]$/ });
    t.notMatch(error!.message, /secret/);
  }
  t.equal(world.lines.filter(({ event }) => event === 'mcp.fault').length, 3);
});

t.test('each call leaves one line in the log, without ids of tasks, results or tokens', async (t) => {
  const world = createWorld();
  world.clock.stepMs = 12;
  world.api.run = { status: 'completed', result: 'the-result' };
  await ask(world, taskCall('tasks/get'));
  world.api.failure = storeFailure();
  await ask(world, taskCall('tasks/cancel'));
  const line = (method: string, ok: boolean) => ({
    level: 'info',
    event: 'mcp.task',
    fields: { method, agent_id: 'agent-good', duration_ms: 12, ok },
  });
  t.strictSame(world.lines, [line('tasks/get', true), line('tasks/cancel', false)]);
});
