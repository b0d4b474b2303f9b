import t from 'tap';
import { callNodeHandler, type NodeHandler } from '../../server/auth/node-bridge.ts';
import { call, connect, LOOPBACK, listSessions, newOwner, openSite, PUBLIC, rpc, type Site } from './support.ts';

async function document(site: Site, path: string, host?: string): Promise<Record<string, unknown>> {
  const response = await call(site, path, { ...(host && { headers: { host } }) });
  site.t.equal(response.status, 200, path);
  site.t.equal(response.headers.get('access-control-allow-origin'), '*', 'a page of any origin may read it');
  return (await response.json()) as Record<string, unknown>;
}

t.test(
  'protected-resource metadata is at the root and with the path inserted, and names what was asked about',
  async (t) => {
    const site = await openSite(t, { url: PUBLIC });
    const root = '/.well-known/oauth-protected-resource';
    for (const path of ['', '/mcp', '/mcp/', '/api/v1/external-mcp', '/mcp?auth=required']) {
      t.match(await document(site, root + path), {
        resource: PUBLIC + path,
        authorization_servers: [PUBLIC],
        scopes_supported: ['osfoundry:read', 'osfoundry:run'],
      });
    }
    t.equal((await call(site, `${root}/elsewhere`)).status, 404);
  },
);

t.test('authorization-server metadata is wherever a client looks, and always the same', async (t) => {
  const site = await openSite(t, { url: PUBLIC });
  const places = [
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-authorization-server/mcp',
    '/.well-known/openid-configuration',
    '/.well-known/openid-configuration/mcp',
    '/mcp/.well-known/openid-configuration',
  ];
  for (const place of places) {
    const found = await document(site, place);
    t.match(found, {
      issuer: PUBLIC,
      code_challenge_methods_supported: ['S256'],
      client_id_metadata_document_supported: true,
      authorization_response_iss_parameter_supported: true,
      scopes_supported: ['osfoundry:read', 'osfoundry:run'],
    });
    t.ok((found.token_endpoint_auth_methods_supported as string[]).includes('none'));
    for (const [name, value] of Object.entries(found)) {
      if (/_endpoint$|_uri$/.test(name)) t.ok(String(value).startsWith(`${PUBLIC}/`), name);
    }
  }
});

t.test('forwarded headers decide nothing: the configured address does', async (t) => {
  const site = await openSite(t, { url: PUBLIC });
  const evil = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'http', forwarded: 'host=evil.example' };
  const paths = ['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-authorization-server'];
  // By its own name, and by the one that some proxies reach it by.
  for (const host of ['relay.example', '127.0.0.1:7420']) {
    const headers = { host, ...evil };
    for (const path of paths) {
      const text = await (await call(site, path, { headers })).text();
      t.match(text, PUBLIC, path);
      t.notMatch(text, /evil|127\.0\.0\.1/, path);
    }
    const challenge = await call(site, '/mcp?auth=required', { headers, method: 'POST', body: '{}' });
    t.match(challenge.headers.get('www-authenticate'), `resource_metadata="${PUBLIC}/`);
    t.notMatch(challenge.headers.get('www-authenticate'), /evil/);
  }
  await newOwner(site);
  const unpassed = await call(site, '/owner/login', { headers: { host: '127.0.0.1:7420' } });
  t.equal(unpassed.status, 200, 'there are pages under the name that a proxy reaches it by');
  const ours = { 'x-forwarded-host': 'relay.example', forwarded: 'host=relay.example' };
  for (const headers of [evil, ours]) {
    const page = await call(site, '/owner/login', { headers: { host: 'evil.example', ...headers } });
    t.equal(page.status, 421, 'and none under a foreign name, whatever else is said');
  }
});

t.test('the authorization server never sees what a client says of its own address or of ours', async (t) => {
  const seen: unknown[] = [];
  const url = new URL('/oauth/token?a=b', PUBLIC);
  const headers = new Headers({
    host: 'evil.example',
    forwarded: 'for=1.1.1.1;host=evil.example',
    'x-forwarded-for': '1.1.1.1',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'http',
    'x-real-ip': '1.1.1.1',
    accept: 'application/json',
  });
  const handler: NodeHandler = (request, response) => {
    seen.push(request.headers, request.url, request.socket.remoteAddress);
    response.end();
  };
  await callNodeHandler(handler, { method: 'GET', url, headers, body: new Uint8Array(), address: '203.0.113.7' });
  t.same(seen, [{ host: 'relay.example', accept: 'application/json' }, '/oauth/token?a=b', '203.0.113.7']);
});

t.test('on one machine, the name that was typed is the resource, and the issuer stays one', async (t) => {
  const site = await openSite(t);
  const found = await document(site, '/.well-known/oauth-protected-resource/mcp', 'localhost:7420');
  t.match(found, { resource: 'http://localhost:7420/mcp', authorization_servers: [LOOPBACK] });
});

t.test('a challenge says where to read on, and a page may read the challenge', async (t) => {
  const site = await openSite(t, { url: PUBLIC });
  const refused = await rpc(site, { method: 'tools/call', params: { name: 'list_graph_sessions', arguments: {} } });
  t.equal(refused.status, 401);
  const challenge = refused.headers.get('www-authenticate')!;
  t.match(challenge, `resource_metadata="${PUBLIC}/.well-known/oauth-protected-resource/mcp"`);
  t.match(challenge, 'scope="osfoundry:read osfoundry:run"');
  t.match(refused.headers.get('access-control-expose-headers'), 'WWW-Authenticate');
  const other = await rpc(site, { path: '/api/v1/external-mcp/', method: 'tools/call', params: { name: 'x' } });
  t.match(other.headers.get('www-authenticate'), '/.well-known/oauth-protected-resource/api/v1/external-mcp/"');
});

t.test('?auth=required answers nothing without a token, and everything with one', async (t) => {
  const site = await openSite(t);
  const { tokens } = await connect(site, await newOwner(site));
  const path = '/mcp?auth=required';
  for (const method of ['tools/list', 'initialize', 'ping', 'server/discover']) {
    const refused = await rpc(site, { path, method });
    t.equal(refused.status, 401, method);
    t.match(refused.headers.get('www-authenticate'), '/oauth-protected-resource/mcp?auth=required"');
  }
  for (const method of ['GET', 'DELETE']) t.equal((await call(site, path, { method })).status, 401, method);
  t.equal((await rpc(site, { path, method: 'tools/list', token: tokens.access_token })).status, 200);
  t.equal((await listSessions(site, tokens.access_token, path)).status, 200);
  t.equal((await rpc(site, { method: 'tools/list' })).status, 200, 'the usual address stays open for looking around');
});

t.test('pages of other origins may call what clients call, and never with cookies', async (t) => {
  const site = await openSite(t);
  const origin = 'https://inspector.example';
  for (const path of ['/mcp', '/oauth/token', '/oauth/register', '/oauth/revoke']) {
    const headers = {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type',
    };
    const preflight = await call(site, path, { method: 'OPTIONS', headers });
    t.equal(preflight.status, 204, path);
    t.match(preflight.headers.get('access-control-allow-methods'), 'POST');
    t.match(preflight.headers.get('access-control-allow-headers'), /authorization, content-type/);
    const answer = await call(site, path, { method: 'POST', headers: { origin }, body: '{}' });
    t.equal(answer.headers.get('access-control-allow-origin'), '*', path);
    for (const each of [preflight, answer]) t.notOk(each.headers.has('access-control-allow-credentials'));
  }
  const page = await call(site, '/owner/login', { headers: { origin } });
  t.notOk(page.headers.has('access-control-allow-origin'), 'a page of ours is for nobody else');
});
