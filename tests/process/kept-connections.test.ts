/** Connections that a balancer keeps and uses again, later than many a server would keep them. */
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import t from 'tap';
import { systemClock } from '../../protocol/host/system-ports.ts';
import { startRelay } from './relay-world.ts';
import { expectProcesses, tempFolder } from './support.ts';

expectProcesses(t);

const CONNECTIONS = 50;
/** What common balancers wait before they close an idle connection themselves, and a second. */
const IDLE_MS = 61_000;

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
  await new Promise<void>((done) => systemClock.after(IDLE_MS, done));
  t.same(await all(), Array(CONNECTIONS).fill({ status: 200, reused: true }));
});
