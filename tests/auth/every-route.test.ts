/** Every route meets every kind of nonsense: it is refused, tells nothing of the inside, and each answer is sealed. */
import t from 'tap';
import { TRPC_PATH } from '../../protocol/api.ts';
import { STORE_REFUSES } from '../../protocol/errors.ts';
import { PLAIN_PATH } from '../../protocol/plain-contract.ts';
import { MCP_PATHS, PATHS } from '../../server/auth/places.ts';
import { type CallOptions, call, connect, newOwner, openSite, PUBLIC, type Site } from './support.ts';

const ROUTES: readonly string[] = [
  ...Object.values(PATHS),
  ...MCP_PATHS,
  '/mcp?auth=required',
  ...['sync', 'control', 'complete', 'probe', 'nothing', 'sync,relay.sync'].map((call) => `${TRPC_PATH}/relay.${call}`),
  TRPC_PATH,
  ...['sync', 'control', 'complete', 'nothing'].map((call) => `${PLAIN_PATH}/${call}`),
  '/oauth/consent/made-up',
  '/oauth/authorize/made-up',
  '/oauth/nothing',
  '/owner/nothing',
  '/.well-known/oauth-protected-resource',
  '/.well-known/oauth-protected-resource/mcp',
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
  '/.well-known/nothing',
  '/openapi.json',
  '/healthz',
  '/readyz',
  '/',
  '/nothing',
  '/.//',
  '/%00',
  '/%',
  '/../../etc/passwd',
];

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const JSON_TYPE = 'application/json';
const FORM = 'application/x-www-form-urlencoded';

/** Type of the body, and the body. */
const BODIES: Readonly<Record<string, readonly [type: string, body: string]>> = {
  nothing: [JSON_TYPE, ''],
  'a cut object': [JSON_TYPE, '{"a":'],
  null: [JSON_TYPE, 'null'],
  'a list': [JSON_TYPE, '[]'],
  'a list of lists': [JSON_TYPE, '[[[]],null,1]'],
  'a deep list': [JSON_TYPE, '['.repeat(5_000) + ']'.repeat(5_000)],
  'names of the prototype': [JSON_TYPE, '{"__proto__":{"a":1},"constructor":{"prototype":{}},"jsonrpc":"2.0"}'],
  'a call of nothing': [JSON_TYPE, '{"jsonrpc":"2.0","id":{},"method":["tools/call"],"params":7}'],
  'a call with garbage': [
    JSON_TYPE,
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":{},"arguments":[]}}',
  ],
  'numbers that are none': [JSON_TYPE, '{"hold_ms":1e999,"capacity":-0,"instance_id":1e400}'],
  'another type': ['text/plain', 'hello'],
  'a type that is none': ['\u00e4;;;=', '{}'],
  'another character set': ['application/json; charset=utf-16', '{}'],
  multipart: ['multipart/form-data', '--x\r\n'],
  'broken escapes': [FORM, 'a=%ZZ&%=%&user_code=%00&step=%F0%28'],
  'all names of forms': [
    FORM,
    'step=login&step=allow&password=&token=&user_code=&remove=x&end_session=x&client_id=x&grant_type=x&code=%00&device_code=&refresh_token=x&redirect_uri=::&resource=::',
  ],
  'a name a thousand times': [FORM, 'a=1&'.repeat(1_000)],
};

const QUERIES: readonly string[] = [
  '%',
  '%00=%FF&a[]=1&a[__proto__]=1',
  `a=${'x'.repeat(5_000)}`,
  'batch=1&input=%7B',
  'client_id=x&redirect_uri=javascript:alert(1)&response_type=code&scope=%00&state=<script>',
  'token=%00&user_code=%F0%9F%92%A9&next=//evil.example',
];

const HEADERS: readonly Record<string, string>[] = [
  { authorization: '' },
  { authorization: 'Bearer' },
  { authorization: `Bearer ${'x'.repeat(8_000)}` },
  { authorization: 'Basic %%%' },
  { authorization: 'Bearer __proto__' },
  { cookie: `${';'.repeat(500)}=;graph_relay_owner;__Host-graph_relay_owner=${'x'.repeat(3_000)}` },
  { 'mcp-protocol-version': 'constructor', 'mcp-session-id': '\u00e4' },
  { 'graph-relay-protocol': '-1,NaN', accept: 'x', 'accept-language': '*;q=2' },
  { 'x-forwarded-for': `${'1,'.repeat(500)}::ffff:999.1.1.1`, forwarded: 'host=evil', 'x-forwarded-host': 'evil' },
  { 'content-length': '99999999999' },
];

const SEALS: Readonly<Record<string, RegExp>> = {
  'x-content-type-options': /^nosniff$/,
  'x-frame-options': /^DENY$/,
  'content-security-policy': /default-src 'none'.*frame-ancestors 'none'/,
  'referrer-policy': /^(no-referrer|same-origin)$/,
  'cache-control': /no-store|max-age/,
  'strict-transport-security': /max-age=/,
  'cross-origin-resource-policy': /^(same|cross)-origin$/,
};

const INSIDE = /node_modules|node:internal|\bat \S+ \(|\.[tj]s:\d|Error:|\/(tmp|home|root|usr)\//;

/** What is wrong with the answer to this request; null when nothing is. */
async function faultOf(site: Site, path: string, options: CallOptions): Promise<string | null> {
  // Nobody is refused for coming often: the limits are looked at elsewhere.
  site.clock.skewMs += 60 * 60_000;
  const response = await call(site, path, options);
  const text = await response.text();
  const unsealed = Object.entries(SEALS).filter(([name, wanted]) => !wanted.test(response.headers.get(name) ?? ''));
  if (response.status >= 500 || response.status === 429) return `status ${response.status}`;
  if (INSIDE.test(text)) return `it tells ${text.slice(0, 300)}`;
  return unsealed.length === 0 ? null : `without ${unsealed.map(([name]) => name).join(', ')}`;
}

/** All requests at all routes; gives back what went wrong. */
async function faultsOf(site: Site, requests: Readonly<Record<string, CallOptions & { query?: string }>>) {
  const faults: string[] = [];
  for (const route of ROUTES) {
    for (const [name, { query, ...options }] of Object.entries(requests)) {
      const path = query === undefined ? route : `${route}${route.includes('?') ? '&' : '?'}${query}`;
      const fault = await faultOf(site, path, options).catch((error: Error) => `it threw ${error.message}`);
      if (fault !== null) faults.push(`${route} with ${name}: ${fault}`);
    }
  }
  return faults;
}

const named = <T>(values: readonly T[], make: (value: T) => CallOptions & { query?: string }) =>
  Object.fromEntries(values.map((value) => [JSON.stringify(value).slice(0, 60), make(value)]));

t.test('every route meets every method, query and header', async (t) => {
  const site = await openSite(t, { url: PUBLIC });
  t.same(
    await faultsOf(
      site,
      named(METHODS, (method) => ({ method })),
    ),
    [],
  );
  t.same(
    await faultsOf(
      site,
      named(QUERIES, (query) => ({ query })),
    ),
    [],
  );
  t.same(
    await faultsOf(
      site,
      named(HEADERS, (headers) => ({ headers })),
    ),
    [],
  );
  const posted = named(HEADERS, (headers) => ({
    headers: { 'content-type': JSON_TYPE, ...headers },
    method: 'POST',
    body: '{}',
  }));
  t.same(await faultsOf(site, posted), []);
});

t.test('every route meets every body, from nobody, an agent, a desktop and the owner', async (t) => {
  const site = await openSite(t, { url: PUBLIC });
  const owner = await newOwner(site);
  const cookie = [...owner.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const { tokens } = await connect(site, owner);
  const desktop = await site.relay.access.createToken({ kind: 'desktop', name: 'studio' });
  // Tokens of a login would end in the hours that pass here.
  const agent = await site.relay.access.createToken({ kind: 'agent', name: 'cli', projects: ['home'] });
  const callers: Record<string, Record<string, string>> = {
    nobody: {},
    'an agent': { authorization: `Bearer ${agent.token}` },
    'a login that has ended': { authorization: `Bearer ${tokens.access_token}` },
    'a desktop': { authorization: `Bearer ${desktop.token}` },
    'the owner': { cookie, origin: PUBLIC },
  };
  for (const [caller, credentials] of Object.entries(callers)) {
    const requests = Object.entries(BODIES).map(([name, [type, body]]) => [
      `${name} from ${caller}`,
      {
        method: 'POST',
        headers: { 'content-type': type, accept: 'application/json, text/event-stream', ...credentials },
        body,
      },
    ]);
    t.same(await faultsOf(site, Object.fromEntries(requests)), [], caller);
  }
});

t.test('a body without end is not read to its end, whoever sends it', async (t) => {
  const site = await openSite(t, { url: PUBLIC });
  const { token } = await site.relay.access.createToken({ kind: 'desktop', name: 'studio' });
  const agent = await site.relay.access.createToken({ kind: 'agent', name: 'cli', projects: ['home'] });
  const chunk = new TextEncoder().encode('x'.repeat(1_000_000));
  for (const route of ROUTES) {
    for (const credentials of [{}, { authorization: `Bearer ${token}` }, { authorization: `Bearer ${agent.token}` }]) {
      site.clock.skewMs += 60 * 60_000;
      let sent = 0;
      const body = new ReadableStream({
        pull(controller) {
          sent += chunk.byteLength;
          if (sent > 100_000_000) controller.error(new Error('it was read to its end'));
          else controller.enqueue(chunk);
        },
      });
      const headers = { host: new URL(PUBLIC).host, 'content-type': FORM, ...credentials };
      const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
      const response = await site.relay.fetch(new Request(new URL(route, PUBLIC), init), { address: '203.0.113.7' });
      await response.arrayBuffer();
      t.ok(response.status < 500 && sent < 100_000_000, `${route}: ${response.status} after ${sent} bytes`);
    }
  }
});

t.test('while the disk refuses, no answer of any route repeats what it says', async (t) => {
  const site = await openSite(t, { url: PUBLIC });
  const owner = await newOwner(site);
  const cookie = [...owner.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const { token } = await site.relay.access.createToken({ kind: 'desktop', name: 'studio' });
  const agent = await site.relay.access.createToken({ kind: 'agent', name: 'cli', projects: ['home'] });
  const session = { name: 'x', description: '', slug: 'x', version: 1, status: 'ready' };
  const graph_session_id = 'gs_0123456789abcdef0123456789abcdef';
  const projects = [{ project_id: 'home', sessions: [{ graph_session_id, ...session }] }];
  const sync = { instance_id: '11111111-1111-4111-8111-111111111111', projects, holding: [], capacity: 0, hold_ms: 0 };
  const run = { graph_session_id, idempotency_key: 'key-12345', arguments: {} };
  const start = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'run_graph_session', arguments: run } };
  // Something new, so that it has to be stored.
  const plain = { project_id: 'home', sessions: [{ ...projects[0]!.sessions[0], name: 'y' }] };
  const asked: [string, string, object][] = [
    [`${TRPC_PATH}/relay.sync`, token, sync],
    ['/mcp', agent.token, start],
    [`${PLAIN_PATH}/sync`, token, plain],
    ['/oauth/register', '', { redirect_uris: ['http://127.0.0.1/cb'] }],
  ];
  await call(site, asked[0]![0], { method: 'POST', ...jsonOf(token, sync) });
  site.store.failWrites('ENOSPC at /secret/place');
  const answers = asked.map(([path, bearer, body]) => call(site, path, { method: 'POST', ...jsonOf(bearer, body) }));
  t.equal((await answers[2]!).clone().status, 503, 'the plain contract');
  const others = ['/readyz', '/owner', '/owner/login', '/mcp'].map((path) => call(site, path, { headers: { cookie } }));
  for (const response of await Promise.all([...answers, ...others])) {
    const text = await response.text();
    t.notMatch(text, /secret|ENOSPC/, `${response.status} ${text.slice(0, 120)}`);
  }
  const repeated = await call(site, '/mcp', { method: 'POST', ...jsonOf(agent.token, start) });
  t.match(await repeated.text(), STORE_REFUSES, 'it says what can be done');
});

function jsonOf(token: string, body: object) {
  const accept = 'application/json, text/event-stream';
  return {
    headers: { 'content-type': JSON_TYPE, accept, authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  };
}
