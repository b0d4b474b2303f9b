import t from 'tap';
import {
  authorizePath,
  Browser,
  call,
  connect,
  loggedIn,
  newOwner,
  openSite,
  PASSWORD,
  PUBLIC,
  register,
  restarted,
  type Site,
} from './support.ts';

/** What a browser says of a page that it opens, in place of an image or a frame. */
const OPENED = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
const FORM = 'application/x-www-form-urlencoded';

/** Every page that a browser can be at, with what is on it. */
async function allPages(site: Site, browser: Browser) {
  const client = await register(site);
  const paths = [
    '/owner',
    '/owner/login',
    '/device',
    '/device?user_code=BCDFGHJK',
    '/owner/setup?token=x',
    '/owner/nothing',
  ];
  const pages = await Promise.all(paths.map((path) => browser.open(path)));
  return [
    ...pages,
    await browser.open(authorizePath(client)),
    await browser.open('/oauth/authorize?client_id=nobody'),
    await browser.open('/oauth/consent/made-up'),
    await new Browser(site).open('/owner/login'),
  ];
}

for (const url of [PUBLIC, 'http://127.0.0.1:7420']) {
  t.test(`no page of ${url} runs a script, is put in a frame, is kept, or tells where it was`, async (t) => {
    const site = await openSite(t, { url });
    for (const { response, text, url: at } of await allPages(site, await newOwner(site))) {
      const { headers } = response;
      const policy = headers.get('content-security-policy') ?? '';
      t.match(policy, /default-src 'none'/, at.href);
      t.match(policy, /frame-ancestors 'none'/);
      t.match(policy, /base-uri 'none'/);
      t.match(policy, /form-action 'self'/);
      t.notMatch(policy, /unsafe|script-src/);
      t.equal(headers.get('x-frame-options'), 'DENY');
      t.equal(headers.get('x-content-type-options'), 'nosniff');
      t.equal(headers.get('referrer-policy'), 'same-origin');
      t.match(headers.get('cache-control'), 'no-store');
      t.equal(headers.has('strict-transport-security'), url === PUBLIC);
      for (const name of ['access-control-allow-origin', 'access-control-allow-credentials'])
        t.notOk(headers.has(name));
      t.notMatch(text, /<script|\son\w+=|style="|src=/i);
      t.match(text, /<html lang="en">/);
      t.match(text, /<h1>[^<]+<\/h1>/);
      for (const [input] of text.matchAll(/<input(?![^>]*type="hidden")[^>]*>/g)) {
        const before = text.slice(0, text.indexOf(input));
        t.ok(before.lastIndexOf('<label') > before.lastIndexOf('</label>'), `${input} has a label`);
      }
    }
  });
}

t.test('cookies are for this host and the browser alone, and for TLS where there is TLS', async (t) => {
  for (const url of [PUBLIC, 'http://127.0.0.1:7420']) {
    const site = await openSite(t, { url });
    const browser = await newOwner(site);
    await browser.open(authorizePath(await register(site)));
    const set = browser.answers.flatMap(({ headers }) => headers.getSetCookie());
    t.ok(set.length >= 4, `${set.length} cookies`);
    for (const cookie of set) {
      t.match(cookie, /; httponly/i, cookie);
      t.match(cookie, /; samesite=lax/i);
      t.notMatch(cookie, /; domain=/i);
      t.equal(/; secure/i.test(cookie), url === PUBLIC);
    }
    const own = set.filter((cookie) => cookie.includes('graph_relay_owner') || cookie.includes('graph_relay_form'));
    for (const cookie of own) t.equal(cookie.startsWith('__Host-'), url === PUBLIC);
  }
});

t.test('a form of another site changes nothing, whatever it knows', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const { tokens } = await connect(site, browser);
  const [row] = site.authorization.connections.list('agent');
  const stranger = new Browser(site);
  const page = await stranger.open('/owner/login');
  const strangersToken = /name="form_token" value="([^"]*)"/.exec(page.text)![1]!;
  const own = /name="form_token" value="([^"]*)"/.exec((await browser.open('/owner')).text)![1]!;
  const attempts: [string, Record<string, string>, Record<string, string>][] = [
    ['no token', {}, {}],
    ["a stranger's token", { form_token: strangersToken }, {}],
    ['another origin', { form_token: own }, { origin: 'https://evil.example' }],
    ['an origin that hides', { form_token: own }, { origin: 'null' }],
    ['another port of this machine', { form_token: own }, { origin: 'http://127.0.0.1:9999' }],
    ["the browser's own word", { form_token: own }, { 'sec-fetch-site': 'cross-site' }],
    ['a neighbour', { form_token: own }, { 'sec-fetch-site': 'same-site' }],
    ['a form that a browser opens from elsewhere', { form_token: own }, { 'sec-fetch-site': 'cross-site', ...OPENED }],
    ['a form that a browser opens from a neighbour', { form_token: own }, { 'sec-fetch-site': 'same-site', ...OPENED }],
  ];
  for (const path of ['/owner', '/owner/logout', '/device']) {
    for (const [name, fields, headers] of attempts) {
      const body = String(new URLSearchParams({ ...fields, remove: row!.connectionId, step: 'everywhere' }));
      const answer = await browser.open(path, { method: 'POST', headers: { 'content-type': FORM, ...headers }, body });
      t.equal(answer.response.status, 403, `${path}: ${name}`);
    }
  }
  t.ok(site.authorization.agentOf(tokens.access_token), 'nothing was removed');
  t.match((await browser.open('/owner')).text, /What is connected/, 'and nobody was logged out');
});

t.test('a consent that another site sends, or that is sent from another browser, allows nothing', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const asked = await browser.open(authorizePath(await register(site)));
  const body = 'step=allow&scope=osfoundry%3Arun&new_project=home&name=x';
  const headers = { 'content-type': FORM };
  t.equal((await browser.open(asked.url.href, { method: 'POST', headers, body })).response.status, 403);
  const other = await loggedIn(site);
  t.equal((await other.open(asked.url.href)).response.status, 400);
  t.same(site.authorization.connections.list('agent'), []);
});

t.test('after a login the browser is sent to pages of ours only', async (t) => {
  const site = await openSite(t);
  await newOwner(site);
  const elsewhere = [
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example',
    '/owner/../../evil',
    '/owner@evil.example',
    'javascript:alert(1)',
    '/owner?next=//evil.example',
    '/device?user_code=x&y=/\r\nset-cookie: a=b',
  ];
  for (const next of elsewhere) {
    const browser = new Browser(site);
    const login = await browser.open(`/owner/login?${new URLSearchParams({ next })}`);
    await browser.send(login, 'login', { password: PASSWORD });
    const sent = browser.answers.find(({ status }) => status === 303)!;
    t.match(sent.headers.get('location'), /^\/(owner|device)(\?[\w=%.-]*)?$/, next);
  }
});

t.test('the link for the first owner works once, and not at all when it was guessed or is old', async (t) => {
  const site = await openSite(t);
  const old = site.authorization.setupLink();
  const link = site.authorization.setupLink();
  t.match(link, /token=[0-9a-f]{64}$/, '256 bits');
  const browser = new Browser(site);
  for (const path of ['/owner/setup', '/owner/setup?token=', `/owner/setup?token=${'0'.repeat(64)}`, old]) {
    t.equal((await browser.open(path)).response.status, 403, path);
  }
  const page = await browser.open(link);
  t.match((await browser.send(page, 'setup', { password: 'short', again: 'short' })).text, /at least 12 characters/);
  t.match((await browser.send(page, 'setup', { password: PASSWORD, again: 'other' })).text, /not the same/);
  const both = await Promise.all(
    [1, 2].map(() => browser.send(page, 'setup', { password: PASSWORD, again: PASSWORD })),
  );
  t.equal(both.filter(({ url }) => url.pathname === '/owner').length, 1, 'one of two at the same moment');
  t.equal((await browser.open(link)).response.status, 403);
});

t.test('a password that was set anew ends every login, and a restart ends none', async (t) => {
  let site = await openSite(t);
  const browser = await newOwner(site);
  site = await restarted(site);
  browser.site = site;
  t.match((await browser.open('/owner')).text, /What is connected/);
  await site.authorization.owner.setPassword('another four green words');
  t.match((await browser.open('/owner')).text, /Log in/);
});

t.test('the owner sees where they are logged in, and ends one or all', async (t) => {
  const site = await openSite(t);
  const here = await newOwner(site);
  site.clock.skewMs += 1_000;
  const there = await loggedIn(site);
  const page = await here.open('/owner');
  const [other] = site.authorization.owner.sessions();
  await here.send(page, other!.sessionId);
  t.match((await there.open('/owner')).text, /Log in/);
  t.match((await here.open('/owner')).text, /What is connected/);
  const third = await loggedIn(site);
  await here.send(await here.open('/owner'), 'everywhere');
  for (const each of [here, third]) t.match((await each.open('/owner')).text, /Log in/);
});

t.test('a login ends after two weeks', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  site.clock.skewMs += 14 * 24 * 60 * 60_000 + 1_000;
  t.match((await browser.open('/owner')).text, /Log in/);
});

t.test('a session cookie that was there before the login is of no use after it', async (t) => {
  const site = await openSite(t);
  await newOwner(site);
  const browser = new Browser(site);
  browser.cookies.set('graph_relay_owner', 'a'.repeat(64));
  const login = await browser.open('/owner/login');
  const formBefore = browser.cookies.get('graph_relay_form');
  await browser.send(login, 'login', { password: PASSWORD });
  t.not(browser.cookies.get('graph_relay_owner'), 'a'.repeat(64));
  t.not(browser.cookies.get('graph_relay_form'), formBefore);
});

t.test('oversized and malformed input of every page is refused without a trace of the inside', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const headers = { 'content-type': FORM, origin: site.url };
  for (const path of ['/owner', '/owner/login', '/owner/logout', '/owner/setup', '/device', '/oauth/consent/x']) {
    const large = await browser.open(path, { method: 'POST', headers, body: `a=${'x'.repeat(30_000)}` });
    t.equal(large.response.status, 413, path);
    for (const method of ['PUT', 'DELETE', 'PATCH']) t.equal((await call(site, path, { method })).status, 405, method);
  }
  for (const path of ['/oauth/token', '/oauth/revoke', '/oauth/device_authorization']) {
    const large = await call(site, path, { method: 'POST', headers, body: `a=${'x'.repeat(80_000)}` });
    t.equal(large.status, 413, path);
    const wrong = await call(site, path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{',
    });
    t.equal(wrong.status, 400, path);
    t.notMatch(await wrong.text(), /node_modules|at .*\.js|Error:/);
  }
});
