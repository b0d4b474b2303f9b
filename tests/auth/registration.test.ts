import t from 'tap';
import { UNUSED_CLIENT_MS, UNUSED_CLIENTS_MAX } from '../../server/auth/oauth-store.ts';
import {
  allow,
  authorizePath,
  type Client,
  call,
  connect,
  exchange,
  loggedIn,
  newOwner,
  openSite,
  refresh,
  register,
  type Site,
  type Tokens,
} from './support.ts';

function tryRegister(site: Site, metadata: unknown): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return call(site, '/oauth/register', { method: 'POST', headers, body: JSON.stringify(metadata) });
}

/** Registrations as real clients send them. */
const REAL: Readonly<Record<string, Record<string, unknown>>> = {
  'Claude Code, without application_type and scope': {
    client_name: 'Claude Code',
    redirect_uris: ['http://localhost:54545/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  },
  'Cursor, with three kinds of addresses': {
    client_name: 'Cursor',
    redirect_uris: [
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'https://www.cursor.com/agents/mcp/oauth/callback',
      'http://localhost:8787/callback',
    ],
    token_endpoint_auth_method: 'none',
  },
  'a client with scopes, grants and fields of its own': {
    client_name: 'Much',
    redirect_uris: ['https://much.example/cb'],
    scope: 'openid profile made:up',
    grant_types: ['authorization_code', 'implicit', 'urn:ietf:params:oauth:grant-type:device_code'],
    response_types: ['code', 'token'],
    software_statement: 'x',
    logo_uri: 'http://10.0.0.1/logo.png',
    token_endpoint_auth_method: 'none',
  },
  'a client with a secret': {
    client_name: 'Secretive',
    redirect_uris: ['https://secret.example/cb'],
    token_endpoint_auth_method: 'client_secret_post',
  },
};

for (const [name, metadata] of Object.entries(REAL)) {
  t.test(`${name}, registers and goes the whole way`, async (t) => {
    const site = await openSite(t);
    const browser = await newOwner(site);
    const client = await register(site, metadata);
    const secret = client.client_secret === undefined ? {} : { client_secret: client.client_secret };
    t.equal('client_secret' in client, metadata.token_endpoint_auth_method !== 'none');
    for (const redirect_uri of metadata.redirect_uris as string[]) {
      const asked = await browser.open(
        authorizePath(client, { redirect_uri, scope: 'openid offline_access', nonce: 'n' }),
      );
      const landed = await browser.send(asked, 'allow', { new_project: 'home' });
      t.ok(landed.url.href.startsWith(redirect_uri), redirect_uri);
      const code = landed.url.searchParams.get('code')!;
      const tokens = (await (await exchange(site, client, { code, redirect_uri, ...secret })).json()) as Tokens;
      t.match(tokens, { scope: 'osfoundry:read osfoundry:run', refresh_token: String });
      const renewed = await refresh(site, client, { refresh_token: tokens.refresh_token, ...secret });
      t.equal(renewed.status, 200);
    }
  });
}

t.test('a loopback client may take any port, and only the port may differ', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const client = await register(site, { redirect_uris: ['http://127.0.0.1/callback'] });
  const at = async (redirect_uri: string) => browser.open(authorizePath(client, { redirect_uri }));
  t.match((await at('http://127.0.0.1:61234/callback')).text, /Connect Test client/);
  const tricks = [
    'http://127.0.0.1:61234/callback/../x',
    'http://127.0.0.1:61234/other',
    'http://127.0.0.1.evil.example:61234/callback',
    'http://127.0.0.1@evil.example/callback',
    'https://127.0.0.1:61234/callback',
    'http://localhost:61234/callback?x=1',
    'http://evil.example/callback',
  ];
  for (const redirect_uri of tricks) {
    const { response, text, url } = await at(redirect_uri);
    t.equal(url.origin, site.url, `no way out to ${redirect_uri}`);
    t.equal(response.status, 400);
    t.match(text, /redirect_uri/);
  }
});

t.test('a registered https address is compared letter by letter', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const client = await register(site, { redirect_uris: ['https://app.example/cb'] });
  const tricks = [
    'https://app.example/cb/',
    'https://app.example/cb?x=1',
    'https://app.example:8443/cb',
    'https://APP.example/cb',
    'https://app.example.evil.example/cb',
    'https://app.example/cb#x',
    'https://evil.example/?https://app.example/cb',
    '',
  ];
  for (const redirect_uri of tricks) {
    const { url, response } = await browser.open(authorizePath(client, { redirect_uri }));
    t.equal(url.origin, site.url);
    t.equal(response.status, 400, redirect_uri);
  }
  const twice = `${authorizePath(client, { redirect_uri: 'https://app.example/cb' })}&redirect_uri=https://evil.example/`;
  t.equal((await browser.open(twice)).url.origin, site.url, 'two addresses are none');
});

t.test('redirect addresses that run something, or send a code in the open, are not registered', async (t) => {
  const site = await openSite(t);
  const refused: [uri: unknown, why: RegExp][] = [
    ['javascript:alert(1)', /starts no client/],
    ['data:text/html,x', /starts no client/],
    ['file:///etc/passwd', /starts no client/],
    ['view-source:https://app.example/cb', /starts no client/],
    ['http://app.example/cb', /over an open network/],
    ['http://10.0.0.1/cb', /over an open network/],
    ['https://app.example/cb#x', /fragment/],
    ['https://user@app.example/cb', /user name/],
    ['not an address', /absolute addresses/],
    [7, /absolute addresses/],
  ];
  for (const [uri, error_description] of refused) {
    const response = await tryRegister(site, { redirect_uris: ['https://app.example/cb', uri] });
    t.equal(response.status, 400, String(uri));
    t.match(await response.json(), { error: 'invalid_redirect_uri', error_description });
  }
  for (const metadata of [{}, { redirect_uris: [] }, { redirect_uris: 'https://a.example' }, [], 'x', null]) {
    t.equal((await tryRegister(site, metadata)).status, 400, JSON.stringify(metadata));
  }
  const large = await tryRegister(site, { redirect_uris: ['https://a.example'], client_name: 'x'.repeat(60_000) });
  t.equal(large.status, 413);
});

t.test('the name of a client is shown as text, whatever it holds', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const client = await register(site, { client_name: `<script>x</script>"&'\u202e\n by Graph Relay` });
  const asked = await browser.open(authorizePath(client));
  t.notMatch(asked.text, '<script');
  t.notMatch(asked.text, '\u202e');
  t.match(asked.text, '&lt;script&gt;x&lt;/script&gt;&quot;&amp;&#39;');
  t.ok((await allow(browser, client)).searchParams.get('code'));
});

t.test('registrations are counted: many from one address are refused, others go on', async (t) => {
  const site = await openSite(t);
  const at = (address: string) =>
    call(site, '/oauth/register', {
      address,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: ['https://a.example/cb'], token_endpoint_auth_method: 'none' }),
    });
  for (let count = 0; count < 20; count++) t.equal((await at('198.51.100.1')).status, 201);
  const refused = await at('198.51.100.1');
  t.equal(refused.status, 429);
  t.ok(Number(refused.headers.get('retry-after')) > 0);
  t.equal((await at('198.51.100.2')).status, 201);
  site.clock.skewMs += 60_000;
  t.equal((await at('198.51.100.1')).status, 201, 'after a minute there is room again');
});

t.test('clients that nobody allowed are forgotten, the oldest first, and those in use are not', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const used = await connect(site, browser);
  const removed = await connect(site, browser);
  await site.authorization.connections.remove(site.authorization.connections.list('agent')[0]!, 'test');
  const unused = await register(site);
  site.clock.skewMs += UNUSED_CLIENT_MS + 1_000;
  await site.authorization.sweep();
  const owner = await loggedIn(site);
  const isKnown = async (client: Client) => (await owner.open(authorizePath(client))).response.status === 200;
  t.equal(await isKnown(unused), false);
  t.equal([await isKnown(used.client), await isKnown(removed.client)].filter(Boolean).length, 1);

  const oldest = await register(site);
  for (let count = 0; count < UNUSED_CLIENTS_MAX; count++) {
    site.clock.skewMs += 30_000;
    await register(site);
  }
  const kept = [...site.store.rows('oauth').values()].filter((row) => row.model === 'Client' && row.expiresAt !== null);
  t.equal(kept.length, UNUSED_CLIENTS_MAX);
  t.equal(await isKnown(oldest), false);
});
