/** Connections that a balancer keeps and uses again, later than many a server would keep them. */
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { createHttpClient } from '../../desktop-agent/dialer/http-client.ts';
import { systemClock } from '../../protocol/host/system-ports.ts';
import { startRelay } from './relay-world.ts';
import { expectProcesses, tempFolder } from './support.ts';

expectProcesses(t);

const CONNECTIONS = 50;
/** After this long common balancers close an idle connection, or forget it without a word. */
const BALANCER_IDLE_MS = 60_000;

t.test('fifty connections that were idle for 61 s each take another request (C11)', async (t) => {
  const { url } = await startRelay(t, await tempFolder(t));
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, maxFreeSockets: CONNECTIONS });
  t.teardown(() => agent.destroy());
  const ask = async () => {
    const asked = request(new URL('/healthz', url), { agent }).end();
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    return { status: response.statusCode, reused: asked.reusedSocket };
  };
  const all = () => Promise.all(Array.from({ length: CONNECTIONS }, ask));
  t.same(await all(), Array(CONNECTIONS).fill({ status: 200, reused: false }));
  // The one thing here that only time can show.
  await new Promise<void>((done) => systemClock.after(BALANCER_IDLE_MS + 1_000, done));
  t.same(await all(), Array(CONNECTIONS).fill({ status: 200, reused: true }));
});

t.test('a desktop closes what it does not use before a balancer forgets it (C28)', async (t) => {
  const first = Promise.withResolvers<string>();
  const balancer = createServer((_request, response) => response.end('{}'));
  balancer.keepAliveTimeout = 2 * BALANCER_IDLE_MS;
  balancer.on('connection', (socket) => {
    // Both times run side by side, whatever else the machine does.
    socket.setTimeout(BALANCER_IDLE_MS, () => first.resolve('forgotten by the balancer'));
    socket.once('close', () => first.resolve('closed by the desktop'));
  });
  await new Promise<void>((done) => balancer.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    balancer.closeAllConnections();
    balancer.close();
  });
  const client = createHttpClient({ clock: systemClock, environment: {} });
  t.teardown(client.renew);
  const { port } = balancer.address() as AddressInfo;
  const response = await client.fetch(`http://127.0.0.1:${port}/`);
  t.equal(await response.text(), '{}');
  t.equal(await first.promise, 'closed by the desktop');
});
