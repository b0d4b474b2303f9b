/** By which names the relay is reached, what pages of other sites may do, and what each answer carries. */
import { once } from 'node:events';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { TRPC_PATH } from '../../protocol/api.ts';
import { PLAIN_PATH } from '../../protocol/plain-contract.ts';
import { FrontDoor } from '../../server/front-door.ts';
import { listenHttp } from '../../server/http-server.ts';
import { handleUpgrades } from '../../server/upgrades.ts';
import { call, LOOPBACK, newOwner, openSite, PUBLIC, rpc } from './support.ts';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

interface Asked {
  readonly host: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

function statusAt(door: FrontDoor, { host, path = '/mcp', headers = {} }: Asked) {
  const guarded = door.guard(async () => new Response('inside'));
  return guarded(new Request(`http://relay.test${path}`, { headers: { host, ...headers } })).then(
    ({ status }) => status,
  );
}

function doorAt(url: string, publicOrigin: string | null): FrontDoor {
  const door = new FrontDoor(SILENT);
  door.open({ url, publicOrigin });
  return door;
}

const LOOPBACK_NAMES = ['127.0.0.1:7420', 'localhost:7420', 'LOCALHOST', '[::1]:7420', '127.0.0.1'];
const FOREIGN_NAMES = [
  'evil.example',
  'evil.example:7420',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  '127.0.0.1@evil.example',
  'evil.example#localhost',
  'evil.example?localhost:7420',
  '127.0.0.2.nip.io',
  'xlocalhost',
  '0.0.0.0:7420',
  '192.168.1.5:7420',
  '',
  ':7420',
];

t.test('a relay of one machine is reached by the names of that machine only', async (t) => {
  const door = doorAt(LOOPBACK, null);
  for (const host of LOOPBACK_NAMES) t.equal(await statusAt(door, { host }), 200, host);
  // An empty header cannot be told from none here: that case is looked at on a real port below.
  for (const host of FOREIGN_NAMES.filter((name) => name !== ''))
    for (const path of ['/mcp', `${TRPC_PATH}/relay.sync`, `${PLAIN_PATH}/sync`, '/openapi.json', '/oauth/token'])
      t.equal(await statusAt(door, { host, path }), 421, `${path} at ${host}`);
  for (const path of ['/healthz', '/readyz'])
    t.equal(await statusAt(door, { host: '10.0.0.7:7420', path }), 200, 'for probes');
});

t.test('a relay with a public address is reached by that name and by those of its machine', async (t) => {
  const door = doorAt(LOOPBACK, PUBLIC);
  for (const host of [...LOOPBACK_NAMES, 'relay.example', 'relay.example:443', 'RELAY.example'])
    t.equal(await statusAt(door, { host }), 200, host);
  for (const host of FOREIGN_NAMES.filter((name) => name !== '')) t.equal(await statusAt(door, { host }), 421, host);
});

t.test('a relay that was opened to a network is called whatever that network calls it', async (t) => {
  const door = doorAt('http://0.0.0.0:7420', null);
  for (const host of ['192.168.1.5:7420', 'studio.lan:7420', 'localhost']) t.equal(await statusAt(door, { host }), 200);
});

t.test(
  "pages of other sites cannot use a desktop's routes, and cannot load the owner's pages into theirs",
  async (t) => {
    const door = doorAt(LOOPBACK, PUBLIC);
    const host = '127.0.0.1:7420';
    const origins: [string, number][] = [
      ['https://evil.example', 403],
      ['null', 403],
      ['http://127.0.0.1:9999', 403],
      ['http://127.0.0.1:7420', 200],
      [PUBLIC, 200],
    ];
    for (const [origin, status] of origins) {
      for (const path of [`${TRPC_PATH}/relay.sync`, `${PLAIN_PATH}/sync`])
        t.equal(await statusAt(door, { host, path, headers: { origin } }), status, `${path} from ${origin}`);
      t.equal(
        door.refusalOfUpgrade({ headers: { host, origin } }) === null,
        status === 200,
        `a WebSocket from ${origin}`,
      );
    }
    t.equal(door.refusalOfUpgrade({ headers: { host } }), null, 'desktops say no origin');
    t.match(door.refusalOfUpgrade({ headers: { host: 'evil.example' } }), {
      code: 'forbidden',
      message: /--public-url/,
    });
    const opened = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    for (const path of ['/owner', '/owner/login', '/device', '/oauth/consent/x']) {
      for (const site of ['cross-site', 'same-site']) {
        const from = { 'sec-fetch-site': site };
        t.equal(await statusAt(door, { host, path, headers: { ...from, ...opened } }), 200, 'a link leads there');
        const frame = { ...opened, 'sec-fetch-dest': 'iframe' };
        for (const how of [{}, frame, { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }])
          t.equal(
            await statusAt(door, { host, path, headers: { ...from, ...how } }),
            403,
            `${path} ${JSON.stringify(how)}`,
          );
      }
      t.equal(await statusAt(door, { host, path, headers: { 'sec-fetch-site': 'same-origin' } }), 200);
    }
  },
);

t.test('a client in a browser may still call the MCP endpoint, with a token and never with cookies', async (t) => {
  const site = await openSite(t);
  const owner = await newOwner(site);
  const cookie = [...owner.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const headers = { origin: 'https://inspector.example', cookie, 'content-type': 'application/json' };
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'list_graph_sessions', arguments: {} },
  });
  const answer = await call(site, '/mcp', { method: 'POST', headers, body });
  t.equal(answer.status, 401, 'the cookie of the owner is no token');
  t.equal(answer.headers.get('access-control-allow-origin'), '*');
  t.equal(answer.headers.get('access-control-allow-credentials'), null);
  t.equal(answer.headers.get('cross-origin-resource-policy'), 'cross-origin');
  t.equal((await rpc(site, { method: 'tools/list' })).status, 200);
});

/** A relay on a port; gives back what it says to bytes that are written by hand. */
async function byHand(t: Test): Promise<(text: string) => Promise<string>> {
  const site = await openSite(t);
  const door = doorAt(LOOPBACK, null);
  const { server, url } = await listenHttp(site.relay.fetch, { host: '127.0.0.1', port: 0 });
  const accept = () => t.fail('no WebSocket is granted');
  handleUpgrades(server, { door, desktopOf: () => ({ desktopId: 'd', name: 'd' }), draining: () => false, accept });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return async (text) => {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' }).on('error', () => {});
    let answer = '';
    socket.on('data', (bytes) => {
      answer += bytes;
    });
    socket.write(text);
    await once(socket, 'close');
    return answer;
  };
}

const UPGRADE = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Authorization: Bearer x',
];

t.test('on a real port: foreign names, no name, foreign upgrades, and headers without end', async (t) => {
  const say = await byHand(t);
  const lines = (...given: string[]) => `${[...given, '', ''].join('\r\n')}`;
  const close = 'Connection: close';
  t.match(await say(lines('GET /openapi.json HTTP/1.1', 'Host: 127.0.0.1', close)), /^HTTP\/1\.1 200 /);
  t.match(await say(lines('GET /openapi.json HTTP/1.1', 'Host: evil.example', close)), /^HTTP\/1\.1 421 /);
  t.match(await say(lines('GET http://127.0.0.1/mcp HTTP/1.1', 'Host: evil.example', close)), /^HTTP\/1\.1 4\d\d /);
  for (const host of [
    'Host:',
    'Host: a b',
    'Host: <script>',
    'X-No-Host: 1',
    'Host: 127.0.0.1\r\nHost: evil.example',
  ]) {
    const answer = await say(lines('GET /openapi.json HTTP/1.1', host, close));
    t.match(answer, /^HTTP\/1\.1 4\d\d /, host);
    t.notMatch(answer, /node_modules|\bat .*\.(ts|js)|<script>/);
  }
  for (const foreign of ['Host: evil.example', 'Host: 127.0.0.1\r\nOrigin: https://evil.example']) {
    const answer = await say(lines(`GET ${TRPC_PATH} HTTP/1.1`, foreign, ...UPGRADE));
    t.match(answer, /^HTTP\/1\.1 403 .*X-Content-Type-Options: nosniff/s, foreign);
  }
  const long = await say(lines('GET /healthz HTTP/1.1', 'Host: 127.0.0.1', close, `X-Long: ${'x'.repeat(20_000)}`));
  t.match(long, /^HTTP\/1\.1 431 /);
});
