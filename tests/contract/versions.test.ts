import { request as httpRequest } from 'node:http';
import t from 'tap';
import { simulatedFetch } from '../../bench/sim/network.ts';
import { createTimedEngine } from '../../bench/sim/timed-engine.ts';
import { createAgent } from '../../desktop-agent/agent.ts';
import { createDialers } from '../../desktop-agent/dialer/dialers.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../desktop-agent/rows.ts';
import { EXIT_CODES } from '../../protocol/host/exit-codes.ts';
import { createMemoryState } from '../../protocol/host/state/memory-state.ts';
import type { Log } from '../../protocol/ports.ts';
import { listenHttp } from '../../server/http-server.ts';
import { handleUpgrades } from '../../server/upgrades.ts';
import { createTestRelay, PROJECT, SECOND, syncInput } from './support.ts';

const HEADER = 'x-graph-relay-protocol';
const silent: Log = { debug() {}, info() {}, warn() {}, error() {} };

for (const named of [undefined, '2', '1', '2, 3', '3,1']) {
  t.test(`a request that names ${named ?? 'no version'} is served, and the answer names what is`, async (t) => {
    const world = await createTestRelay();
    const headers: Record<string, string> = named === undefined ? {} : { [HEADER]: named };
    const answer = await world.settle(world.trpc('sync', syncInput(), { headers }));
    t.equal(answer.status, 200);
    t.equal(answer.headers.get(HEADER), '1, 2');
  });
}

for (const named of ['3', '0', '', 'two', '22', '1.0']) {
  t.test(`a request that names ${JSON.stringify(named)} alone is refused, and nothing is done`, async (t) => {
    const world = await createTestRelay();
    const answer = await world.settle(world.trpc('sync', syncInput(), { headers: { [HEADER]: named } }));
    t.equal(answer.status, 400);
    t.match(answer.body.error, { message: /version 1 and 2/, data: { relayCode: 'unsupported-protocol' } });
    t.equal(answer.headers.get(HEADER), '1, 2');
    const { sessions } = await world.relay.agents.listSessions(world.agent, { project_id: PROJECT, limit: 1 });
    t.strictSame(sessions, []);
  });
}

t.test('the plain-JSON routes are version 1 and say so', async (t) => {
  const world = await createTestRelay();
  const input = { project_id: PROJECT, sessions: [] };
  for (const headers of [{}, { [HEADER]: '1' }, { [HEADER]: '1, 2' }] as Record<string, string>[]) {
    t.equal((await world.settle(world.plain('sync', input, { headers }))).status, 200);
  }
  const refused = await world.settle(world.plain('sync', input, { headers: { [HEADER]: '2' } }));
  t.equal(refused.status, 400);
  t.match(refused.body, { error: { code: 'unsupported-protocol', message: /version 1 / } });
  t.equal(refused.headers.get(HEADER), '1');
});

t.test('a desktop whose version is not served ends with its own code and a clear line', async (t) => {
  const world = await createTestRelay();
  const { clock, ports, relay, desktops } = world;
  const lines: [string, unknown][] = [];
  const log: Log = { ...silent, error: (event, fields) => lines.push([event, fields]) };
  const versions: (string | null)[] = [];
  const fetch = simulatedFetch(clock, { delayMs: () => 5 }, (request) => {
    versions.push(request.headers.get(HEADER));
    const headers = new Headers(request.headers);
    headers.set(HEADER, '99');
    return relay.fetch(new Request(request, { headers }));
  });
  const open = () => ({ send() {}, terminate() {} });
  const agent = createAgent({
    ports: { ...ports, log },
    dialers: createDialers({ url: 'http://relay.test', token: () => desktops[0]!, clock, fetch, open }),
    store: createMemoryState<DesktopTables>({ tables: DESKTOP_TABLES, clock }),
    library: { list: () => [], load: async () => null },
    engine: createTimedEngine({ clock, runMs: () => SECOND }),
  });
  const end = await clock.settle(agent.run());
  t.equal(end, 'unsupported-protocol');
  t.strictSame(versions, ['2']);
  t.equal(end !== 'stopped' && EXIT_CODES[end], 23);
  t.match(lines, [['relay.refused', { code: 'unsupported-protocol', reason: /Update the desktop or the relay/ }]]);
});

t.test('an upgrade to a version that is not served is refused with a whole HTTP answer', async (t) => {
  const { relay, desktops } = await createTestRelay();
  const { server, url } = await listenHttp(relay.fetch, { host: '127.0.0.1', port: 0 });
  t.teardown(() => server.close());
  handleUpgrades(server, {
    desktopOf: relay.access.desktopOf,
    draining: relay.draining,
    accept: () => t.fail('must not open'),
  });
  const answer = await new Promise<{ status: number | undefined; named: unknown; text: string }>((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${desktops[0]}`,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
      [HEADER]: '3',
    };
    const request = httpRequest(`${url}/trpc`, { headers }, async (response) => {
      let text = '';
      for await (const chunk of response.setEncoding('utf8')) text += chunk;
      resolve({ status: response.statusCode, named: response.headers[HEADER], text });
    });
    request.on('error', reject);
    request.end();
  });
  t.match(answer, { status: 400, named: '1, 2', text: /unsupported-protocol/ });
});
