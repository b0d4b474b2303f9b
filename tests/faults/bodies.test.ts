/** Text that comes in pieces: bytes are joined first and decoded once, on every way in (C133). */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { WebSocket, WebSocketServer } from 'ws';
import { createDialers } from '../../desktop-agent/dialer/dialers.ts';
import { createHttpClient } from '../../desktop-agent/dialer/http-client.ts';
import { openSocket } from '../../desktop-agent/dialer/open-socket.ts';
import { systemClock, systemIds } from '../../protocol/host/system-ports.ts';
import { graphSessionId } from '../../protocol/ids.ts';
import type { SyncAnswer } from '../../protocol/schemas.ts';
import { PROJECT } from './one-graph.ts';
import { type RelayRig, startRelay } from './rig.ts';
import { dataOf, postInSegments, type WireDesktop, wireDesktop } from './wire.ts';

/** Letters of two, three and four bytes, at every position of a 1,024-byte border. */
const TEXT = `${'é'.repeat(100)}${'図書館で本を読む。'.repeat(80)}${'👩‍👩‍👧‍👦🚀'.repeat(40)}`;
const SEGMENTS = [1, 3, 1_023];

async function runOf(relay: RelayRig, desktop: WireDesktop) {
  const id = await relay.queue(desktop.sessionId, { text: TEXT });
  const { commands } = await desktop.sync();
  const [command] = commands;
  const execution = { command_id: id, execution_id: systemIds.uuid() };
  await desktop.call('control', { ...execution, phase: 'starting', hold_ms: 0 });
  return { id, command, execution };
}

for (const segment of SEGMENTS) {
  t.test(`a sync and a completion in segments of ${segment} bytes keep every character (C133)`, async (t) => {
    const relay = await startRelay(t);
    const desktop = wireDesktop(relay.url, await relay.desktopToken(), '図書館 🚀'.repeat(8));
    const post = (path: string, input: unknown) =>
      postInSegments(relay.url, { path, headers: desktop.headers(), body: JSON.stringify(input), segment });

    dataOf(await post('/trpc/relay.sync', desktop.syncInput()));
    const listed = await mcp(relay, { name: 'list_graph_sessions', arguments: {} }, segment);
    t.match(listed, '図書館 🚀図書館 🚀', 'the name of the session came through');

    const { id, command, execution } = await runOf(relay, desktop);
    t.equal(command?.arguments.text, TEXT);
    dataOf(await post('/trpc/relay.complete', { ...execution, status: 'completed', result: { text: TEXT } }));
    t.same((await relay.read(id)).result, { text: TEXT });
  });

  t.test(`an MCP call in segments of ${segment} bytes keeps every character (C133)`, async (t) => {
    const relay = await startRelay(t);
    const desktop = wireDesktop(relay.url, await relay.desktopToken());
    await desktop.sync();
    const input = { graph_session_id: desktop.sessionId, arguments: { text: TEXT }, idempotency_key: 'key-12345678' };
    await mcp(relay, { name: 'run_graph_session', arguments: input }, segment);
    const { commands } = await desktop.sync();
    t.equal(commands[0]?.arguments.text, TEXT);
  });
}

/** Calls a tool with a raw request; the text of the answer. */
function mcp(relay: RelayRig, params: { name: string; arguments: unknown }, segment: number): Promise<string> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${relay.callerToken}`,
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  return postInSegments(relay.url, { path: '/mcp', headers, body, segment });
}

t.test('WebSocket messages in fragments that cut characters keep every one of them (C133)', async (t) => {
  const relay = await startRelay(t);
  const desktop = wireDesktop(relay.url, await relay.desktopToken());
  await desktop.sync();
  const { id, execution } = await runOf(relay, desktop);
  const socket = new WebSocket(`${relay.url.replace('http', 'ws')}/trpc`, { headers: desktop.headers('websocket') });
  t.teardown(() => socket.terminate());
  await once(socket, 'open');
  const input = { ...execution, status: 'completed', result: { text: TEXT } };
  const message = JSON.stringify({ id: 1, method: 'mutation', params: { path: 'relay.complete', input } });
  const bytes = Buffer.from(message);
  for (let at = 0; at < bytes.length; at += 7) {
    socket.send(bytes.subarray(at, at + 7), { binary: false, fin: at + 7 >= bytes.length });
  }
  const [answer] = await once(socket, 'message');
  t.match(dataOf(String(answer)), { stored: true, already: false });
  t.same((await relay.read(id)).result, { text: TEXT });
});

/** A relay that answers every call with one offer, in pieces of so many bytes. */
async function startPieces(t: Test, piece: number): Promise<string> {
  const offer = {
    command_id: systemIds.uuid(),
    project_id: PROJECT,
    graph_session_id: graphSessionId(systemIds.hex(16)),
    slug: 'wire',
    arguments: { text: TEXT },
    queued_at_ms: 1,
  };
  const data: SyncAnswer = { epoch: 1, commands: [offer], refused_projects: [], hold_granted_ms: 0, next_sync_ms: 0 };
  const pieces = (id?: number) => {
    const bytes = Buffer.from(JSON.stringify({ ...(id !== undefined && { id }), result: { type: 'data', data } }));
    return Array.from({ length: Math.ceil(bytes.length / piece) }, (_, index) =>
      bytes.subarray(index * piece, (index + 1) * piece),
    );
  };
  const server = createServer(async (request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    for (const part of pieces()) {
      response.write(part);
      await new Promise((done) => setImmediate(done));
    }
    response.end();
  });
  new WebSocketServer({ server }).on('connection', (socket) => {
    socket.on('message', (message) => {
      const parts = pieces(JSON.parse(String(message)).id);
      for (const [index, part] of parts.entries())
        socket.send(part, { binary: false, fin: index === parts.length - 1 });
    });
    t.teardown(() => socket.terminate());
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

for (const transport of ['long-poll', 'websocket'] as const) {
  t.test(`a desktop joins an answer that comes in pieces of three bytes (${transport}, C133)`, async (t) => {
    const dialers = createDialers({
      url: await startPieces(t, 3),
      token: () => 'grd_token',
      clock: systemClock,
      open: openSocket,
      ...createHttpClient({ clock: systemClock, environment: {} }),
    });
    const input = { instance_id: systemIds.uuid(), projects: [], holding: [], capacity: 1, hold_ms: 0 };
    const { commands } = await dialers[transport].sync(input, { signal: new AbortController().signal });
    t.equal(commands[0]?.arguments.text, TEXT);
    for (const dialer of Object.values(dialers)) dialer.renew?.();
  });
}
