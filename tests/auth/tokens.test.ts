import t from 'tap';
import { REFRESH_REUSE_MS } from '../../server/auth/oauth-store.ts';
import { LIFETIMES } from '../../server/auth/provider.ts';
import {
  allow,
  authorizePath,
  connect,
  exchange,
  listSessions,
  loggedIn,
  newOwner,
  openSite,
  post,
  refresh,
  register,
  restarted,
  type Site,
  type Tokens,
} from './support.ts';

const DAY_MS = 24 * 60 * 60_000;

async function codeOf(response: Response): Promise<string> {
  return ((await response.json()) as { error: string }).error;
}

async function statusOf(site: Site, token: string): Promise<number> {
  return (await listSessions(site, token)).status;
}

t.test(
  'a refresh whose answer was lost works again for a minute; a day later it ends the whole grant (C72)',
  async (t) => {
    const site = await openSite(t);
    const { client, tokens } = await connect(site, await newOwner(site));
    const { refresh_token } = tokens;
    const first = (await (await refresh(site, client, { refresh_token })).json()) as Tokens;
    t.not(first.refresh_token, refresh_token, 'it was rotated');
    site.clock.skewMs += 2_000;
    t.equal((await refresh(site, client, { refresh_token })).status, 200, 'after 2 s');
    site.clock.skewMs += REFRESH_REUSE_MS - 4_000;
    const last = (await (await refresh(site, client, { refresh_token })).json()) as Tokens;
    t.ok(last.access_token, 'just before 60 s');
    t.equal(await statusOf(site, last.access_token), 200);
    site.clock.skewMs += DAY_MS;
    const reused = await refresh(site, client, { refresh_token });
    t.equal(reused.status, 400);
    t.equal(await codeOf(reused), 'invalid_grant');
    t.equal(
      await codeOf(await refresh(site, client, { refresh_token: last.refresh_token })),
      'invalid_grant',
      'the family',
    );
    t.same(site.authorization.connections.list('agent'), [], 'the connection has ended too');
  },
);

t.test('rotation is set, its marks survive a restart, and parallel refreshes end nothing (C109)', async (t) => {
  let site = await openSite(t);
  const { client, tokens } = await connect(site, await newOwner(site));
  const { refresh_token } = tokens;
  const both = await Promise.all([1, 2, 3].map(() => refresh(site, client, { refresh_token })));
  t.strictSame(
    both.map(({ status }) => status),
    [200, 200, 200],
  );
  const [one] = (await Promise.all(both.map((each) => each.json()))) as [Tokens];
  site = await restarted(site);
  t.equal((await refresh(site, client, { refresh_token: one.refresh_token })).status, 200, 'the rotated one works');
  site.clock.skewMs += REFRESH_REUSE_MS + 1_000;
  site = await restarted(site);
  t.equal(await codeOf(await refresh(site, client, { refresh_token })), 'invalid_grant', 'the mark was kept');
  t.equal(await codeOf(await refresh(site, client, { refresh_token: one.refresh_token })), 'invalid_grant');
});

t.test('a dead refresh token is answered with invalid_grant, so that its client logs in anew (C75)', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const { client, tokens } = await connect(site, browser);
  const refused = async (refresh_token: string) => {
    const response = await refresh(site, client, { refresh_token });
    t.equal(response.status, 400);
    return codeOf(response);
  };
  t.equal(await refused('A'.repeat(43)), 'invalid_grant', 'unknown');
  t.equal(await refused('no token at all \u{1f600}'), 'invalid_grant', 'malformed');
  const revoked = await post(site, '/oauth/revoke', {
    form: { client_id: client.client_id, token: tokens.refresh_token },
  });
  t.equal(revoked.status, 200);
  t.equal(await refused(tokens.refresh_token), 'invalid_grant', 'revoked');
  const removed = await connect(site, browser);
  await browser.send(await browser.open('/owner'), site.authorization.connections.list('agent')[0]!.connectionId);
  const after = await refresh(site, removed.client, { refresh_token: removed.tokens.refresh_token });
  t.equal(await codeOf(after), 'invalid_grant', 'its owner removed it');
  const other = await connect(site, browser);
  site.clock.skewMs += (LIFETIMES.RefreshToken + 1) * 1_000;
  const expired = await refresh(site, other.client, { refresh_token: other.tokens.refresh_token });
  t.equal(expired.status, 400);
  t.equal(await codeOf(expired), 'invalid_grant', 'expired');
});

t.test('an access token ends after its hour, whatever was restarted meanwhile', async (t) => {
  let site = await openSite(t);
  const { tokens } = await connect(site, await newOwner(site));
  site.clock.skewMs += LIFETIMES.AccessToken * 1_000 - 2_000;
  site = await restarted(site);
  t.equal(await statusOf(site, tokens.access_token), 200);
  site.clock.skewMs += 3_000;
  t.equal(await statusOf(site, tokens.access_token), 401);
});

t.test('a code that is used twice ends everything that came from it', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const client = await register(site);
  const code = (await allow(browser, client)).searchParams.get('code')!;
  const tokens = (await (await exchange(site, client, { code })).json()) as Tokens;
  const again = await exchange(site, client, { code });
  t.equal(again.status, 400);
  t.equal(await codeOf(again), 'invalid_grant');
  t.equal(await statusOf(site, tokens.access_token), 401);
  t.equal(await codeOf(await refresh(site, client, { refresh_token: tokens.refresh_token })), 'invalid_grant');
});

t.test('a code that is used twice at the same moment gives tokens once at most, and ends them', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const client = await register(site);
  const code = (await allow(browser, client)).searchParams.get('code')!;
  const answers = await Promise.all([1, 2, 3].map(() => exchange(site, client, { code })));
  const good = answers.filter(({ status }) => status === 200);
  t.ok(good.length <= 1);
  for (const each of good) t.equal(await statusOf(site, ((await each.json()) as Tokens).access_token), 401);
});

t.test('a code is good for its own client, address, verifier and minute only', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const client = await register(site);
  const newCode = async () => (await allow(browser, client)).searchParams.get('code')!;
  const other = await register(site);
  const wrong: Record<string, string>[] = [
    { client_id: other.client_id },
    { redirect_uri: 'http://127.0.0.1:33418/elsewhere' },
    { code_verifier: other.verifier },
    { code_verifier: '' },
  ];
  for (const given of wrong) {
    const response = await exchange(site, client, { code: await newCode(), ...given });
    t.equal(response.status, 400, JSON.stringify(given));
  }
  const code = await newCode();
  site.clock.skewMs += (LIFETIMES.AuthorizationCode + 1) * 1_000;
  t.equal(await codeOf(await exchange(site, client, { code })), 'invalid_grant');
});

t.test('without PKCE there is no authorization', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const client = await register(site);
  const path = authorizePath(client);
  const without = path.replace(/&code_challenge=[^&]*/, '').replace(/&code_challenge_method=[^&]*/, '');
  for (const each of [
    without,
    path.replace('method=S256', 'method=plain'),
    path.replace(/(challenge=)[^&]*/, '$1short'),
  ]) {
    const { url } = await browser.open(each);
    t.equal(url.searchParams.get('error'), 'invalid_request', each);
  }
});

t.test('every name of this relay is one audience, and no other is taken', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const client = await register(site);
  const ours = ['/mcp', '/mcp/', '', '/', '/mcp?auth=required', '/api/v1/external-mcp'];
  const names = [...ours.map((path) => site.url + path), 'http://localhost:7420/mcp'];
  for (const [index, resource] of names.entries()) {
    const asked = await browser.open(authorizePath(client, { resource }));
    const landed = await browser.send(asked, 'allow', { new_project: 'home', name: `agent ${index}` });
    const code = landed.url.searchParams.get('code')!;
    // Some clients name it otherwise the second time.
    const response = await exchange(site, client, { code, resource: names[(index + 1) % names.length]! });
    t.equal(response.status, 200, resource);
    const { access_token, refresh_token } = (await response.json()) as Tokens;
    t.equal(await statusOf(site, access_token), 200);
    t.equal((await refresh(site, client, { refresh_token, resource })).status, 200);
  }
  const foreign = [
    'https://other.example/mcp',
    'http://127.0.0.1:7421/mcp',
    `${site.url}/other`,
    'urn:graph-relay:desktop',
  ];
  for (const resource of foreign) {
    const { url } = await browser.open(authorizePath(client, { resource }));
    t.equal(url.searchParams.get('error'), 'invalid_target', resource);
  }
});

t.test('a token for another audience opens nothing, whoever it is of', async (t) => {
  const site = await openSite(t);
  const { tokens } = await connect(site, await newOwner(site));
  const [found] = [...site.store.rows('oauth')].filter(([, { model }]) => model === 'AccessToken');
  const [id, row] = found!;
  t.equal(await statusOf(site, tokens.access_token), 200);
  for (const aud of ['urn:graph-relay:desktop', 'https://other.example/mcp', undefined]) {
    await site.store.commit([{ table: 'oauth', id, row: { ...row, payload: { ...row.payload, aud } } }]);
    t.equal(await statusOf(site, tokens.access_token), 401, String(aud));
  }
});

t.test('a client gives back its own tokens only', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const mine = await connect(site, browser);
  const other = await connect(site, browser);
  const form = { client_id: other.client.client_id, token: mine.tokens.refresh_token };
  await post(site, '/oauth/revoke', { form });
  t.equal(await statusOf(site, mine.tokens.access_token), 200);
  await post(site, '/oauth/revoke', { form: { ...form, client_id: mine.client.client_id } });
  t.equal(await statusOf(site, mine.tokens.access_token), 401);
  t.equal(await statusOf(site, other.tokens.access_token), 200);
});

t.test('while the disk refuses, nobody gets a token or a grant, and nobody is told why', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const { client, tokens } = await connect(site, browser);
  const asked = await browser.open(authorizePath(client));
  site.store.failWrites('no space left on /dev/sda1');
  const renewed = await refresh(site, client, { refresh_token: tokens.refresh_token });
  t.ok(renewed.status >= 500);
  const texts = [await renewed.text()];
  const page = await browser.send(asked, 'allow', { new_project: 'home', name: 'late' });
  t.equal(page.response.status, 503);
  texts.push(page.text);
  t.notMatch(texts.join(), /sda1|access_token|\.ts:/);
  t.ok(
    site.lines.some(({ event }) => event === 'oauth.fault'),
    'the log has it',
  );
  t.equal(await statusOf(site, tokens.access_token), 200, 'what was given before goes on working');
});

t.test('what nobody can use any more is swept, and what is in use is not', async (t) => {
  const site = await openSite(t);
  const old = await connect(site, await newOwner(site));
  site.clock.skewMs += 60 * DAY_MS;
  const used = await connect(site, await loggedIn(site));
  const grant = { model: 'Grant', payload: { iat: 1 }, expiresAt: null, consumedAt: null };
  await site.store.commit([{ table: 'oauth', id: 'Grant:of-nobody', row: grant }]);
  site.clock.skewMs += 40 * DAY_MS;
  await site.authorization.sweep();
  t.strictSame(
    site.authorization.connections.list('agent').map(({ clientId }) => clientId),
    [used.client.client_id],
  );
  t.equal((await refresh(site, used.client, { refresh_token: used.tokens.refresh_token })).status, 200);
  t.equal((await refresh(site, old.client, { refresh_token: old.tokens.refresh_token })).status, 400);
  const left = [...site.store.rows('oauth').values()].filter(({ model }) => model === 'Grant');
  t.equal(left.length, 1, 'no grant is left but the one in use');
});
