import t from 'tap';
import {
  allow,
  authorizePath,
  Browser,
  call,
  connect,
  exchange,
  listSessions,
  newOwner,
  openSite,
  PASSWORD,
  REDIRECT,
  refresh,
  register,
  restarted,
  type Tokens,
} from './support.ts';

t.test('a client registers, its owner allows it, and its token opens the tools', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const client = await register(site);
  const asked = await browser.open(authorizePath(client));
  t.match(asked.text, /Connect Test client\?/);
  t.match(asked.text, /a program on this machine \(127\.0\.0\.1:33418\)/);
  const landed = await browser.send(asked, 'allow', { new_project: 'home' });
  t.equal(landed.url.origin + landed.url.pathname, REDIRECT);
  t.equal(landed.url.searchParams.get('state'), 'state-1');
  t.equal(landed.url.searchParams.get('iss'), site.url);
  const response = await exchange(site, client, { code: landed.url.searchParams.get('code')! });
  const tokens = (await response.json()) as Tokens;
  t.match(tokens, { token_type: 'Bearer', expires_in: 3_600, scope: 'osfoundry:read osfoundry:run' });
  const listed = await listSessions(site, tokens.access_token);
  t.equal(listed.status, 200);
  t.match(await listed.text(), /"project_id":"home"|project_id\\":\\"home/);
});

t.test(
  'login and consent are one way: from the log-in page the browser comes to the question and on to the client',
  async (t) => {
    const site = await openSite(t);
    await newOwner(site);
    const browser = new Browser(site);
    const client = await register(site);
    const login = await browser.open(authorizePath(client));
    t.match(login.text, /Log in to connect an agent/);
    const asked = await browser.send(login, 'login', { password: PASSWORD });
    t.match(asked.text, /Connect Test client\?/);
    const landed = await browser.send(asked, 'allow', { new_project: 'home' });
    t.ok(landed.url.searchParams.get('code'));
  },
);

t.test('what the owner refuses is told to the client, and nothing is connected', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const asked = await browser.open(authorizePath(await register(site)));
  const landed = await browser.send(asked, 'deny');
  t.equal(landed.url.searchParams.get('error'), 'access_denied');
  t.equal(landed.url.searchParams.get('state'), 'state-1');
  t.same(site.authorization.connections.list('agent'), []);
});

t.test('the owner narrows scopes and projects, and the token has no more than that', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  await connect(site, browser, { new_project: 'work' });
  const { client, tokens } = await connect(site, browser, {
    scope: ['osfoundry:read'],
    new_project: 'home',
    project: [],
  });
  t.equal(tokens.scope, 'osfoundry:read');
  const agent = site.authorization.agentOf(tokens.access_token);
  t.match(agent, { scopes: ['osfoundry:read'], projects: ['home'] });
  const renewed = (await (
    await refresh(site, client, {
      refresh_token: tokens.refresh_token,
      scope: 'osfoundry:read osfoundry:run',
    })
  ).json()) as Tokens;
  t.equal(renewed.scope, 'osfoundry:read', 'a refresh cannot widen it');
});

t.test('every step of the flow survives a kill of the relay before it (C76)', async (t) => {
  let site = await openSite(t);
  const browser = await newOwner(site);
  const kill = async () => {
    site = await restarted(site);
    browser.site = site;
  };
  await kill();
  const client = await register(site);
  await kill();
  const asked = await browser.open(authorizePath(client));
  await kill();
  const landed = await browser.send(asked, 'allow', { new_project: 'home' });
  await kill();
  const tokens = (await (
    await exchange(site, client, { code: landed.url.searchParams.get('code')! })
  ).json()) as Tokens;
  await kill();
  t.equal((await listSessions(site, tokens.access_token)).status, 200);
  const renewed = await refresh(site, client, { refresh_token: tokens.refresh_token });
  t.equal(renewed.status, 200);
  await kill();
  t.equal((await listSessions(site, ((await renewed.json()) as Tokens).access_token)).status, 200);
  t.ok((await allow(browser, client)).searchParams.get('code'), 'the same client authorises again');
});

t.test('an unknown client gets 401 invalid_client, and its owner a page that says what to do (C76)', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const { client, tokens } = await connect(site, browser);
  for (const [id, { model }] of site.store.rows('oauth')) {
    if (model === 'Client') await site.store.commit([{ table: 'oauth', id, row: null }]);
  }
  const refused = await refresh(site, client, { refresh_token: tokens.refresh_token });
  t.equal(refused.status, 401);
  t.match(await refused.json(), { error: 'invalid_client' });
  const page = await browser.open(authorizePath(client));
  t.equal(page.response.status, 400);
  t.match(page.text, /registers again/);
});

t.test('the data folder opens nothing: no token, code or cookie is in it', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const { tokens } = await connect(site, browser);
  const kept = JSON.stringify(site.store.crash());
  const secrets = [tokens.access_token, tokens.refresh_token, browser.cookies.get('graph_relay_owner')!, PASSWORD];
  for (const secret of secrets) t.notOk(kept.includes(secret));
  t.notOk(JSON.stringify(site.lines).match(new RegExp(secrets.join('|'))), 'nor in the log');
});

t.test('the answer to an open request is not for another browser', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const asked = await browser.open(authorizePath(await register(site)));
  const other = new Browser(site);
  const page = await other.open(asked.url.href);
  t.equal(page.response.status, 400);
  t.match(page.text, /begun in another browser/);
  t.equal((await call(site, asked.url.href)).status, 400);
});

t.test('a consent that is sent twice at once, or again, counts once', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const asked = await browser.open(authorizePath(await register(site)));
  await Promise.all([1, 2].map(() => browser.send(asked, 'allow', { new_project: 'home' })));
  await browser.send(asked, 'allow', { new_project: 'other' });
  const again = await browser.open(authorizePath(await register(site)));
  browser.follows = false;
  const first = await browser.send(again, 'allow', { new_project: 'home', name: 'again' });
  const second = await browser.send(again, 'deny');
  t.equal(second.response.headers.get('location'), first.response.headers.get('location'), 'the first decision counts');
  browser.follows = true;
  t.ok((await browser.open(first.response.headers.get('location')!)).url.searchParams.get('code'));
  t.equal(site.authorization.connections.list('agent').length, 2);
});

t.test('a client that asks for a new login gets one', async (t) => {
  const site = await openSite(t);
  // When the request came is the authorization server's own time, so the login before it is moved back.
  site.clock.skewMs = -60_000;
  const browser = await newOwner(site);
  site.clock.skewMs = 0;
  const path = authorizePath(await register(site), { prompt: 'login consent' });
  const login = await browser.open(path);
  t.match(login.text, /Log in to connect an agent/);
  site.clock.skewMs = 60_000;
  const asked = await browser.send(login, 'login', { password: PASSWORD });
  t.ok((await browser.send(asked, 'allow', { new_project: 'home' })).url.searchParams.get('code'));
  const silent = await browser.open(authorizePath(await register(site), { prompt: 'none' }));
  t.match(
    silent.url.searchParams.get('error'),
    /^(login|consent|interaction)_required$/,
    'nothing is allowed silently',
  );
});

t.test('a relay that is killed while its first owner chooses a password says what to do', async (t) => {
  let site = await openSite(t);
  const browser = new Browser(site);
  const asked = await browser.open(site.authorization.setupLink());
  site = await restarted(site);
  browser.site = site;
  const choice = { password: PASSWORD, again: PASSWORD };
  const late = await browser.send(asked, 'setup', choice);
  t.equal(late.response.status, 403);
  t.match(late.text, /graph-relay owner link/);
  t.notOk(site.authorization.owner.exists);
  const anew = await browser.open(site.authorization.setupLink());
  const done = await browser.send(anew, 'setup', choice);
  t.match(done.text, /What is connected/);
  browser.site = await restarted(site);
  t.match((await browser.open('/owner')).text, /What is connected/, 'the login is there after a kill, too');
});
