import t from 'tap';
import {
  answerOf,
  COMMAND,
  createWorld,
  ERAS,
  GOOD,
  message,
  postOf,
  SESSION,
  toolCall,
  type World,
} from './fixtures.ts';

const TEXT = '报告 Ω — 🚀 naïve';

function runCall(title: string): string {
  const input = { graph_session_id: SESSION, idempotency_key: 'key-12345', arguments: { title } };
  return JSON.stringify(toolCall('2025', 'run_graph_session', input));
}

function inSegments(bytes: Uint8Array, size: number): ReadableStream<Uint8Array> {
  const segments: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) segments.push(bytes.subarray(at, at + size));
  return ReadableStream.from(segments);
}

async function fetchStatus(world: World, body: Parameters<typeof postOf>[0]) {
  const response = await world.endpoint.fetch(postOf(body, { token: GOOD }));
  return { status: response.status, answer: await answerOf(response) };
}

t.test('a body that arrives in segments which cut characters is read as it was sent (C133)', async (t) => {
  const bytes = new TextEncoder().encode(runCall(TEXT.repeat(200)));
  for (const size of [1, 3, 1_023]) {
    const world = createWorld();
    const { status } = await fetchStatus(world, inSegments(bytes, size));
    t.equal(status, 200);
    t.strictSame(world.api.calls[0]?.request.arguments, { title: TEXT.repeat(200) }, `in segments of ${size}`);
  }
});

t.test('a body is bounded in bytes, not in characters', async (t) => {
  const body = runCall('語'.repeat(100));
  const bytes = new TextEncoder().encode(body);
  t.ok(bytes.length > body.length);
  t.equal((await fetchStatus(createWorld({ maxBodyBytes: bytes.length }), bytes)).status, 200);
  const world = createWorld({ maxBodyBytes: bytes.length - 1 });
  for (const tooLarge of [bytes, inSegments(bytes, 64)]) {
    const { status, answer } = await fetchStatus(world, tooLarge);
    t.equal(status, 413);
    t.match(answer, { jsonrpc: '2.0', id: null, error: { code: -32_000, message: /larger than \d+ bytes/ } });
  }
  t.strictSame(world.api.calls, []);
});

t.test('a body that declares too much is refused before it is read, and an endless one is not read on', async (t) => {
  const { endpoint } = createWorld({ maxBodyBytes: 1_000 });
  let sent = 0;
  const endless = () =>
    new ReadableStream({
      pull: (controller) => {
        sent += 100;
        controller.enqueue(new Uint8Array(100));
      },
    });
  t.equal((await endpoint.fetch(postOf(endless(), { headers: { 'content-length': '1001' } }))).status, 413);
  t.ok(sent <= 200, 'hardly anything was taken');
  t.equal((await endpoint.fetch(postOf(endless()))).status, 413);
  t.ok(sent < 2_000, 'it stopped soon after the limit');
});

t.test('the bound of a body is a mebibyte, unless it was made another one', async (t) => {
  const { endpoint } = createWorld();
  const declaring = (bytes: number) => postOf('{}', { headers: { 'content-length': String(bytes) } });
  t.equal((await endpoint.fetch(declaring(1024 * 1024 + 1))).status, 413);
  t.not((await endpoint.fetch(declaring(1024 * 1024))).status, 413);
});

t.test('what is not JSON in UTF-8 is a parse error', async (t) => {
  const latin1 = Uint8Array.from(Buffer.from(runCall('naïve'), 'latin1'));
  for (const body of ['', '{', 'ping', latin1, Uint8Array.of(0xff, 0xfe)]) {
    const { status, answer } = await fetchStatus(createWorld(), body);
    t.equal(status, 400);
    t.match(answer, { jsonrpc: '2.0', id: null, error: { code: -32_700, message: /Parse error/ } });
  }
});

t.test('a body that breaks off is a parse error and no fault', async (t) => {
  const world = createWorld();
  const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('reset')) });
  t.equal((await fetchStatus(world, broken)).status, 400);
  t.strictSame(world.lines, []);
});

t.test('JSON that is no JSON-RPC message is refused and runs nothing', async (t) => {
  const world = createWorld();
  for (const body of ['null', '1', '"tools/call"', '[]', '{}', '[null]', '{"method":"tools/call"}']) {
    const { status } = await fetchStatus(world, body);
    t.equal(status, 400, body);
  }
  t.strictSame(world.api.calls, []);
  t.notOk(world.lines.some(({ level }) => level === 'error' || level === 'warn'));
});

t.test('another content type is refused', async (t) => {
  const { endpoint, api } = createWorld();
  const headers = { 'content-type': 'text/plain' };
  for (const era of ERAS) {
    const response = await endpoint.fetch(postOf(toolCall(era, 'list_graph_sessions'), { token: GOOD, headers }));
    t.equal(response.status, 415);
  }
  t.strictSame(api.calls, []);
});

t.test('GET and DELETE are answered with what is allowed', async (t) => {
  const { endpoint } = createWorld();
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const headers = { accept: 'text/event-stream', 'mcp-session-id': 'old' };
    const response = await endpoint.fetch(new Request('http://relay.test/mcp/', { method, headers }));
    t.equal(response.status, 405, method);
    t.equal(response.headers.get('allow'), 'POST');
  }
  const headers = { authorization: 'Bearer gra_bad' };
  t.equal((await endpoint.fetch(new Request('http://relay.test/mcp', { headers }))).status, 401);
});

t.test('every answer names its character set (C134)', async (t) => {
  const { endpoint } = createWorld({ maxBodyBytes: 5_000 });
  const held = { command_id: COMMAND, wait_seconds: 1 };
  const requests = [
    postOf(message('2025', 'tools/list')),
    postOf(message('2026', 'tools/list')),
    postOf(message('2026', 'server/discover')),
    postOf(message('2025', 'no/such/method')),
    postOf(message('2026', 'no/such/method')),
    postOf(message('2026', 'subscriptions/listen', { notifications: { toolsListChanged: true } })),
    postOf(toolCall('2025', 'get_graph_run', { command_id: COMMAND }), { token: GOOD }),
    postOf(toolCall('2026', 'get_graph_run', { command_id: COMMAND }), { token: GOOD }),
    postOf(toolCall('2025', 'get_graph_run', held), { token: GOOD }),
    postOf(toolCall('2026', 'get_graph_run', held), { token: GOOD }),
    postOf(toolCall('2025', 'get_graph_run')),
    postOf(message('2025', 'ping'), { token: 'gra_bad' }),
    postOf(message('2025', 'ping'), { headers: { accept: 'application/json' } }),
    postOf(message('2025', 'ping'), { headers: { 'mcp-protocol-version': '1999-01-01' } }),
    postOf('{'),
    postOf('1'.repeat(6_000)),
    new Request('http://relay.test/mcp'),
  ];
  const types = new Set<string>();
  for (const request of requests) {
    const response = await endpoint.fetch(request);
    types.add(response.headers.get('content-type') ?? 'none');
    await response.body?.cancel();
  }
  t.strictSame(types, new Set(['application/json; charset=utf-8', 'text/event-stream; charset=utf-8']));
});

t.test('a client that keeps sending an old session id goes on working (C69, C70)', async (t) => {
  const { endpoint } = createWorld();
  const headers = { 'mcp-session-id': 'a-session-of-last-week' };
  const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'old', version: '1' } };
  const again = await endpoint.fetch(postOf(message('2025', 'initialize', hello), { headers }));
  t.equal(again.status, 200);
  t.equal(again.headers.get('mcp-session-id'), null, 'there are no sessions');
  t.equal((await answerOf(again)).result.protocolVersion, '2025-06-18');
  for (const era of ERAS) {
    const response = await endpoint.fetch(postOf(toolCall(era, 'list_graph_sessions'), { token: GOOD, headers }));
    t.strictSame((await answerOf(response)).result.structuredContent, { project_id: 'home', sessions: [] });
  }
});

t.test('no stream of subscriptions is kept open, since nothing would come', async (t) => {
  const { endpoint } = createWorld();
  const listen = message('2026', 'subscriptions/listen', { notifications: { toolsListChanged: true } });
  const answer = await answerOf(await endpoint.fetch(postOf(listen)));
  t.match(answer, { result: { resultType: 'complete' } }, 'it ended by itself');
});
