/** Results on their way back: many at once through bad connections, and one that is too large for a WebSocket. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { WebSocket, WebSocketServer } from 'ws';
import { startFaultProxy } from './fault-proxy.ts';
import { startDesktop, startRelay, startsOf, waitFor } from './rig.ts';

t.test(
  '80 completions at once through a proxy that closes idle connections are stored, none twice (C10)',
  async (t) => {
    const relay = await startRelay(t);
    const proxy = await startFaultProxy({ target: relay.port, faults: { idleCloseMaxMs: 60 }, seed: 10 });
    const gate = Promise.withResolvers<void>();
    let waiting = 0;
    const perform = async (run: { args: Readonly<Record<string, unknown>> }) => {
      waiting++;
      await gate.promise;
      return run.args;
    };
    const desktops = await Promise.all(
      [1, 2].map(async () =>
        startDesktop(t, { url: proxy.url, token: await relay.desktopToken(), slots: 40, mode: 'long-poll', perform }),
      ),
    );
    t.teardown(() => proxy.close());
    await Promise.all(desktops.map((desktop) => desktop.connected()));
    const queued = desktops.flatMap((desktop, which) =>
      Array.from({ length: 40 }, (_, index) => ({ session: desktop.sessionId, args: { which, index } })),
    );
    const ids = await Promise.all(queued.map(({ session, args }) => relay.queue(session, args)));
    await waitFor('80 runs', 30_000, async () => (waiting === 80 ? true : null));
    gate.resolve();
    const ended = await Promise.all(ids.map((id) => relay.ended(id)));
    for (const [index, run] of ended.entries()) {
      t.match(run, { status: 'completed', result: queued[index]!.args });
    }
    for (const desktop of desktops) {
      t.match(startsOf(desktop), { started: 40, twice: 0 });
      await waitFor('an empty outbox', 20_000, async () => desktop.agent.snapshot().outbox.pending === 0 || null);
      t.equal(desktop.agent.snapshot().outbox.refused.length, 0);
    }
  },
);

/** A front of the relay that closes a WebSocket with 1009 when a message is larger than this. Requests pass. */
async function startLimitedFront(t: Test, options: { target: string; maxBytes: number }) {
  let tooLarge = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { host: _host, connection: _connection, ...headers } = request.headers as Record<string, string>;
    const answer = await fetch(options.target + request.url, {
      method: request.method ?? 'GET',
      headers,
      body: Buffer.concat(chunks),
    }).catch(() => null);
    if (answer === null) {
      request.socket.destroy();
      return;
    }
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    response.end(await answer.text());
  });
  new WebSocketServer({ server, maxPayload: options.maxBytes }).on('connection', (near, request) => {
    const headers = { authorization: request.headers.authorization ?? '' };
    const far = new WebSocket(options.target.replace('http', 'ws') + request.url, { headers });
    const early: string[] = [];
    near.on('message', (data) => {
      if (far.readyState === WebSocket.OPEN) far.send(String(data));
      else early.push(String(data));
    });
    far.on('open', () => {
      for (const text of early) far.send(text);
    });
    far.on('message', (data) => near.send(String(data)));
    near.on('error', () => {
      tooLarge++;
    });
    far.on('error', () => near.terminate());
    near.on('close', () => far.terminate());
    far.on('close', () => near.terminate());
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, tooLarge: () => tooLarge };
}

t.test('a result that is too large for the WebSocket goes by HTTP, and others pass (C97)', async (t) => {
  const relay = await startRelay(t);
  const front = await startLimitedFront(t, { target: relay.url, maxBytes: 30_000 });
  const large = 'x'.repeat(60_000);
  const desktop = await startDesktop(t, {
    url: front.url,
    token: await relay.desktopToken(),
    mode: 'websocket',
    perform: async (run) => (run.args.large ? large : 'small'),
  });
  await desktop.connected();
  const [one, two, three] = [
    await relay.queue(desktop.sessionId, { large: true }),
    await relay.queue(desktop.sessionId),
    await relay.queue(desktop.sessionId, { large: true }),
  ];
  t.match(await relay.ended(one), { status: 'completed', result: large });
  t.match(await relay.ended(two), { status: 'completed', result: 'small' });
  t.match(await relay.ended(three), { status: 'completed', result: large });
  t.same([...desktop.runs.values()], [1, 1, 1]);
  t.equal(front.tooLarge(), 1, '1009 came once: the frame was not sent again, nor another like it');
  t.equal(desktop.agent.snapshot().transport.transport, 'websocket');
});
