import t from 'tap';
import {
  answerOf,
  COMMAND,
  createWorld,
  ERAS,
  GOOD,
  message,
  NO_SCOPE,
  type PostOptions,
  postOf,
  READ_ONLY,
  type RpcMessage,
  RUN_ONLY,
  SESSION,
  toolCall,
} from './fixtures.ts';

const INITIALIZE = message('2025', 'initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
});
const INITIALIZED: RpcMessage = { jsonrpc: '2.0', method: 'notifications/initialized' };
const RUN = { graph_session_id: SESSION, idempotency_key: 'key-12345' };

/** Messages that need no token, and the status that they are answered with. */
const FREE: readonly (readonly [string, RpcMessage, number])[] = [
  ['initialize', INITIALIZE, 200],
  ['notifications/initialized', INITIALIZED, 202],
  ['ping of 2025', message('2025', 'ping'), 200],
  ['tools/list of 2025', message('2025', 'tools/list'), 200],
  ['tools/list of 2026', message('2026', 'tools/list'), 200],
  ['server/discover', message('2026', 'server/discover'), 200],
];

async function statusOf(body: object, options: PostOptions = {}): Promise<number> {
  return (await createWorld().endpoint.fetch(postOf(body, options))).status;
}

for (const [name, body, status] of FREE) {
  t.test(`${name} works without a token and with a good one, and a bad one is refused`, async (t) => {
    t.equal(await statusOf(body), status);
    t.equal(await statusOf(body, { token: GOOD }), status);
    t.equal(await statusOf(body, { token: NO_SCOPE }), status);
    t.equal(await statusOf(body, { token: 'gra_bad' }), 401);
  });
}

for (const era of ERAS) {
  t.test(`calling a tool needs a token, in ${era}`, async (t) => {
    const { endpoint, api } = createWorld();
    const response = await endpoint.fetch(postOf(toolCall(era, 'list_graph_sessions')));
    t.equal(response.status, 401);
    const challenge = response.headers.get('www-authenticate')!;
    t.match(challenge, /^Bearer realm="graph-relay", scope="osfoundry:read osfoundry:run"$/);
    const { id, error } = await answerOf(response);
    t.equal(id, 7);
    t.match(error, { code: -32_000, message: /access token/ });
    t.strictSame(api.calls, []);
  });

  t.test(`a bad token is told from a missing one, in ${era}`, async (t) => {
    const { endpoint } = createWorld();
    const response = await endpoint.fetch(postOf(toolCall(era, 'list_graph_sessions'), { token: 'gra_bad' }));
    t.equal(response.status, 401);
    t.match(response.headers.get('www-authenticate'), /error="invalid_token"/);
    t.equal((await answerOf(response)).id, 7);
  });

  t.test(`each tool takes its scope, and run implies read, in ${era}`, async (t) => {
    const calls: readonly (readonly [string, unknown, 'read' | 'run'])[] = [
      ['list_graph_sessions', {}, 'read'],
      ['run_graph_session', RUN, 'run'],
      ['get_graph_run', { command_id: COMMAND }, 'read'],
      ['cancel_graph_run', { command_id: COMMAND }, 'run'],
    ];
    for (const [name, input, scope] of calls) {
      const call = toolCall(era, name, input);
      t.equal(await statusOf(call, { token: GOOD }), 200, `${name} with both`);
      t.equal(await statusOf(call, { token: RUN_ONLY }), 200, `${name} with run`);
      t.equal(await statusOf(call, { token: READ_ONLY }), scope === 'read' ? 200 : 403, `${name} with read`);
      t.equal(await statusOf(call, { token: NO_SCOPE }), 403, `${name} with none`);
    }
  });

  t.test(`a missing scope is answered with what to ask for, in ${era}`, async (t) => {
    const { endpoint, api } = createWorld();
    const response = await endpoint.fetch(postOf(toolCall(era, 'run_graph_session', RUN), { token: READ_ONLY }));
    t.equal(response.status, 403);
    t.match(
      response.headers.get('www-authenticate'),
      /error="insufficient_scope".*scope="osfoundry:read osfoundry:run"/,
    );
    t.match(await answerOf(response), { jsonrpc: '2.0', id: 7, error: { code: -32_000 } });
    t.strictSame(api.calls, []);
  });
}

t.test('a token that is revoked between two calls is refused at the second', async (t) => {
  const world = createWorld();
  const call = () => world.endpoint.fetch(postOf(toolCall('2025', 'list_graph_sessions'), { token: GOOD }));
  t.equal((await call()).status, 200);
  world.revoked.add(GOOD);
  t.equal((await call()).status, 401);
});

t.test('an authorization header that is not a bearer token counts as a bad token', async (t) => {
  for (const authorization of ['Basic Z3JhOmdvb2Q=', 'Bearer', GOOD, `Bearer ${GOOD} more`, '']) {
    t.equal(await statusOf(message('2025', 'ping'), { headers: { authorization } }), 401, `"${authorization}"`);
  }
  t.equal(await statusOf(message('2025', 'ping'), { headers: { authorization: `bearer ${GOOD}` } }), 200);
});

t.test('a tool call inside a batch needs a token and its scope like any other', async (t) => {
  const batch = [message('2025', 'ping'), { ...toolCall('2025', 'run_graph_session', RUN), id: 8 }];
  t.equal(await statusOf([message('2025', 'ping')]), 200);
  t.equal(await statusOf(batch), 401);
  t.equal(await statusOf(batch, { token: 'gra_bad' }), 401);
  t.equal(await statusOf(batch, { token: READ_ONLY }), 403);
  const { endpoint, api } = createWorld();
  const response = await endpoint.fetch(postOf(batch, { token: GOOD }));
  const answers = (await response.json()) as { id: number; result: { structuredContent?: unknown } }[];
  t.strictSame(
    answers.map(({ id }) => id),
    [7, 8],
  );
  t.equal(api.calls.length, 1);
});

t.test('a batch with a message of 2026 in it is refused as a whole', async (t) => {
  const { endpoint, api } = createWorld();
  const batch = [toolCall('2025', 'list_graph_sessions'), toolCall('2026', 'list_graph_sessions')];
  const response = await endpoint.fetch(postOf(batch, { token: GOOD, headers: { 'mcp-method': 'tools/call' } }));
  t.equal(response.status, 400);
  t.strictSame(api.calls, []);
});

t.test('a disguised method reaches no tool without a token', async (t) => {
  const { endpoint, api } = createWorld();
  for (const method of ['tools/call ', 'TOOLS/CALL', ['tools/call']]) {
    const body = { ...toolCall('2025', 'list_graph_sessions'), method } as unknown as RpcMessage;
    await endpoint.fetch(postOf(JSON.stringify(body)));
  }
  t.strictSame(api.calls, []);
});

t.test('a fault while a token is looked up is told neutrally and logged', async (t) => {
  const world = createWorld();
  const fault = new Error('index broken at /secret/path');
  world.revoked.has = () => {
    throw fault;
  };
  const response = await world.endpoint.fetch(postOf(toolCall('2025', 'list_graph_sessions'), { token: GOOD }));
  t.equal(response.status, 500);
  t.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
  const { error } = await answerOf(response);
  t.match(error, { code: -32_603, message: /^The relay failed to handle the request\./ });
  t.match(world.lines, [{ level: 'error', event: 'mcp.fault', fields: { err: fault } }]);
});
