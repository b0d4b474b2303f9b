import t from 'tap';
import { TRPC_PATH } from '../../protocol/api.ts';
import { DESKTOP_CLIENT, DEVICE_GRANT } from '../../protocol/pairing.ts';
import {
  authorizePath,
  Browser,
  call,
  connect,
  listSessions,
  newOwner,
  openSite,
  PASSWORD,
  post,
  refresh,
  register,
  restarted,
  type Site,
  type Tokens,
} from './support.ts';

interface DeviceCode {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly interval: number;
}

async function askCode(site: Site, address?: string): Promise<DeviceCode> {
  const form = { client_id: DESKTOP_CLIENT, desktop_name: 'laptop' };
  const response = await post(site, '/oauth/device_authorization', { form, ...(address && { address }) });
  if (response.status !== 200) throw new Error(String(response.status));
  return (await response.json()) as DeviceCode;
}

/** Asks as a desktop does, after the pause that it was told. */
function poll(site: Site, { device_code, interval }: DeviceCode): Promise<Response> {
  site.clock.skewMs += interval * 1_000;
  return post(site, '/oauth/token', { form: { grant_type: DEVICE_GRANT, client_id: DESKTOP_CLIENT, device_code } });
}

async function errorOf(response: Response): Promise<string> {
  site400(response);
  return ((await response.json()) as { error: string }).error;
}

function site400({ status }: Response): void {
  if (status !== 400) throw new Error(`expected 400, got ${status}`);
}

async function pair(site: Site, browser: Browser, fields: Record<string, string> = {}) {
  const code = await askCode(site);
  const confirm = await browser.send(await browser.open('/device'), 'check', { user_code: code.user_code });
  const done = await browser.send(confirm, 'allow', fields);
  return { code, confirm, done };
}

async function paired(site: Site, browser: Browser, fields: Record<string, string> = {}): Promise<Tokens> {
  const { code } = await pair(site, browser, fields);
  return (await (await poll(site, code)).json()) as Tokens;
}

function sync(site: Site, token: string, holdMs = 0): Promise<Response> {
  const instance_id = '11111111-1111-4111-8111-111111111111';
  const body = JSON.stringify({ instance_id, projects: [], holding: [], capacity: 1, hold_ms: holdMs });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return call(site, `${TRPC_PATH}/relay.sync`, { method: 'POST', headers, body });
}

t.test(
  'a desktop shows a code, its owner confirms it, and its token opens the desktop calls and nothing else',
  async (t) => {
    const site = await openSite(t);
    const browser = await newOwner(site);
    const code = await askCode(site);
    t.match(code, { user_code: /^[A-Z]{4}-[A-Z]{4}$/, verification_uri: `${site.url}/device`, interval: 5 });
    t.equal(await errorOf(await poll(site, code)), 'authorization_pending');
    const typed = code.user_code.toLowerCase().replace('-', ' ');
    const confirm = await browser.send(await browser.open('/device'), 'check', { user_code: typed });
    t.match(confirm.text, /Pair this desktop\?/);
    t.match(confirm.text, 'value="laptop"');
    t.match(confirm.text, '203.0.113.7');
    t.match((await browser.send(confirm, 'allow')).text, /laptop is paired/);
    const response = await poll(site, code);
    t.equal(response.status, 200);
    const tokens = (await response.json()) as Tokens;
    t.match(tokens, { scope: 'osfoundry:desktop', refresh_token: String });
    t.equal((await sync(site, tokens.access_token)).status, 200);
    t.equal((await listSessions(site, tokens.access_token)).status, 401, 'an agent it is not');
    t.match((await browser.open('/owner')).text, /laptop/);
    t.equal(await errorOf(await poll(site, code)), 'invalid_grant', 'the code works once');
  },
);

t.test('a code that is used twice ends the pairing', async (t) => {
  const site = await openSite(t);
  const { code } = await pair(site, await newOwner(site));
  const tokens = (await (await poll(site, code)).json()) as Tokens;
  t.equal((await sync(site, tokens.access_token)).status, 200);
  await poll(site, code);
  t.equal((await sync(site, tokens.access_token)).status, 401);
});

t.test('pairing survives a kill of the relay before each step', async (t) => {
  let site = await openSite(t);
  const browser = await newOwner(site);
  const kill = async () => {
    site = await restarted(site);
    browser.site = site;
  };
  const code = await askCode(site);
  await kill();
  const confirm = await browser.send(await browser.open('/device'), 'check', { user_code: code.user_code });
  await kill();
  await browser.send(confirm, 'allow');
  await kill();
  const tokens = (await (await poll(site, code)).json()) as Tokens;
  await kill();
  t.equal((await sync(site, tokens.access_token)).status, 200);
  const client = { client_id: DESKTOP_CLIENT, verifier: '' };
  t.equal((await refresh(site, client, { refresh_token: tokens.refresh_token })).status, 200);
});

t.test('who refuses a code, or lets it grow old, tells the desktop so', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const refused = await askCode(site);
  const confirm = await browser.send(await browser.open('/device'), 'check', { user_code: refused.user_code });
  await browser.send(confirm, 'deny');
  const again = await browser.send(await browser.open('/device'), 'check', { user_code: refused.user_code });
  t.equal(again.response.status, 404, 'what was decided cannot be decided again');
  t.equal(await errorOf(await poll(site, refused)), 'access_denied');
  const old = await askCode(site);
  site.clock.skewMs += 10 * 60_000;
  t.match(await errorOf(await poll(site, old)), /^(expired_token|invalid_grant)$/);
  const late = await browser.send(await browser.open('/device'), 'check', { user_code: old.user_code });
  t.match(late.text, /no desktop that waits with this code/);
});

t.test('a desktop that asks too often is told to slow down (RFC 8628)', async (t) => {
  const site = await openSite(t);
  const code = await askCode(site);
  t.equal(await errorOf(await poll(site, code)), 'authorization_pending');
  site.clock.skewMs -= code.interval * 1_000;
  t.equal(await errorOf(await poll(site, code)), 'slow_down');
  site.clock.skewMs += 1_000;
  t.equal(await errorOf(await poll(site, code)), 'authorization_pending');
});

t.test('codes cannot be guessed: nobody but the owner may try, and tries are counted', async (t) => {
  const site = await openSite(t);
  const owner = await newOwner(site);
  await askCode(site);
  const stranger = new Browser(site);
  const login = await stranger.open('/device?user_code=BCDF-GHJK');
  t.match(login.text, /Log in/);
  t.equal(login.url.searchParams.get('next'), '/device?user_code=BCDFGHJK');
  const statuses: number[] = [];
  for (let count = 0; count < 14; count++) {
    const page = await owner.send(await owner.open('/device'), 'check', {
      user_code: `BCDFGHJ${'BCDFGHJKLMNPQR'[count]}`,
    });
    statuses.push(page.response.status);
  }
  t.strictSame(statuses, [...Array(10).fill(404), ...Array(4).fill(429)]);
});

t.test('a form that is sent without a login leads to the login, whatever its step, and pairs nothing', async (t) => {
  const site = await openSite(t);
  await newOwner(site);
  const code = await askCode(site);
  const stranger = new Browser(site);
  const form_token = /name="form_token" value="([^"]*)"/.exec((await stranger.open('/device')).text)![1]!;
  for (const step of ['check', 'allow', 'deny']) {
    const body = String(new URLSearchParams({ form_token, user_code: code.user_code, step, name: 'mine' }));
    const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: site.url };
    const page = await stranger.open('/device', { method: 'POST', headers, body });
    t.equal(page.url.pathname, '/owner/login', step);
    t.match(page.text, /Log in/);
  }
  t.equal(await errorOf(await poll(site, code)), 'authorization_pending');
  t.same(site.authorization.connections.list('desktop'), []);
});

t.test('requests for codes are counted by address', async (t) => {
  const site = await openSite(t);
  for (let count = 0; count < 10; count++) await askCode(site, '198.51.100.5');
  await t.rejects(askCode(site, '198.51.100.5'), /429/);
  t.ok((await askCode(site, '198.51.100.6')).device_code);
});

t.test('a link with the code leads through the login to the code, and still has to be confirmed', async (t) => {
  const site = await openSite(t);
  await newOwner(site);
  const code = await askCode(site);
  const browser = new Browser(site);
  const login = await browser.open(`/device?user_code=${code.user_code}`);
  const page = await browser.send(login, 'login', { password: PASSWORD });
  t.match(page.text, `value="${code.user_code}"`);
  t.equal(await errorOf(await poll(site, code)), 'authorization_pending');
});

t.test('a desktop that is paired again takes its own place, when its owner says so', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const first = await paired(site, browser);
  const before = site.authorization.desktopOf(first.access_token);
  const { code, done } = await pair(site, browser);
  t.equal(done.response.status, 409);
  t.match(done.text, /paired already/);
  await browser.send(done, 'allow', { replace: 'yes' });
  const second = (await (await poll(site, code)).json()) as Tokens;
  t.strictSame(site.authorization.desktopOf(second.access_token), before, 'the same desktop with its Graphs');
  t.equal((await sync(site, first.access_token)).status, 401, 'the old login has ended');
  const other = await paired(site, browser, { name: 'other' });
  t.not(site.authorization.desktopOf(other.access_token)?.desktopId, before?.desktopId);
});

t.test('a desktop that is removed is told so in the request that it holds', async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const tokens = await paired(site, browser);
  t.equal((await sync(site, tokens.access_token)).status, 200);
  const held = sync(site, tokens.access_token, 20_000);
  const page = await browser.open('/owner');
  await browser.send(page, site.authorization.connections.list('desktop')[0]!.connectionId);
  t.equal((await held).status, 401);
  t.equal((await sync(site, tokens.access_token)).status, 401);
  const client = { client_id: DESKTOP_CLIENT, verifier: '' };
  t.equal(await errorOf(await refresh(site, client, { refresh_token: tokens.refresh_token })), 'invalid_grant');
});

t.test("nobody gets a desktop's token but by a confirmed code", async (t) => {
  const site = await openSite(t);
  const browser = await newOwner(site);
  const client = await register(site);
  const asked = await browser.open(authorizePath(client, { scope: 'osfoundry:desktop' }));
  t.notMatch(asked.text, 'osfoundry:desktop');
  const { tokens } = await connect(site, browser);
  t.equal(site.authorization.desktopOf(tokens.access_token), null);
  const form = { client_id: client.client_id };
  t.equal((await post(site, '/oauth/device_authorization', { form })).status, 400, 'no other client has the flow');
  const own = await browser.open(authorizePath({ client_id: DESKTOP_CLIENT, verifier: client.verifier }));
  t.equal(own.response.status, 400, 'and the desktop has no other flow');
});
