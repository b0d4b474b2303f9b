/** A WebSocket that the other side closes, for whatever reason it names: only its own wish ends a desktop. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { WebSocket, WebSocketServer } from 'ws';
import { startDesktop, startRelay, waitFor } from './rig.ts';

/** A front of the relay for WebSockets, which are closed when the test says so. */
async function startFront(t: Test, target: string) {
  const server = createServer((_request, response) => response.writeHead(502).end());
  const near = new Set<WebSocket>();
  new WebSocketServer({ server }).on('connection', (socket, request) => {
    near.add(socket);
    const { authorization = '' } = request.headers;
    const far = new WebSocket(target.replace('http', 'ws') + request.url, { headers: { authorization } });
    const opened = once(far, 'open').catch(() => {});
    socket.on('message', (data) => void opened.then(() => far.send(String(data), () => {})));
    far.on('message', (data) => socket.send(String(data), () => {}));
    far.on('error', () => {});
    far.on('close', () => socket.terminate());
    socket.on('close', () => {
      near.delete(socket);
      far.terminate();
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    for (const socket of near) socket.terminate();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Resolves when all that were open are closed. */
    async close(code: number | null): Promise<void> {
      const open = [...near];
      const closed = open.map((socket) => once(socket, 'close'));
      for (const socket of open) {
        if (code === null) socket.terminate();
        else socket.close(code, 'closed by the front');
      }
      await Promise.all(closed);
    },
  };
}

t.test('a WebSocket that is closed with any code is followed by another one, and work goes on (C56)', async (t) => {
  const relay = await startRelay(t);
  const front = await startFront(t, relay.url);
  const token = await relay.desktopToken();
  const desktop = await startDesktop(t, { url: front.url, token, mode: 'websocket', jitter: 0.02 });
  await desktop.connected();
  for (const code of [1000, 1001, 1003, 1008, 1011, 1012, 1013, 3000, 4000, null]) {
    await front.close(code);
    const id = await relay.queue(desktop.sessionId, { code });
    t.match(await relay.ended(id), { status: 'completed', result: { code } }, `closed with ${code}`);
    t.equal(desktop.runs.get(id), 1);
  }
  await waitFor('the connection', 30_000, async () => (desktop.agent.snapshot().connected ? true : null));
  t.notOk(desktop.lines.some(({ event }) => event === 'relay.refused'));
});
