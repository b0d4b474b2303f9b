/**
 * A relay that is killed before every single request, each hop of a browser included, and started from what was on its
 * disk: each flow ends all the same, or says how it is begun anew.
 */
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import t, { type Test } from 'tap';
import { TRPC_PATH } from '../../protocol/api.ts';
import { DESKTOP_CLIENT, DEVICE_GRANT } from '../../protocol/pairing.ts';
import { REFRESH_REUSE_MS } from '../../server/auth/oauth-store.ts';
import { listenHttp } from '../../server/http-server.ts';
import { Keeper } from './keeper.ts';
import {
  authorizePath,
  Browser,
  call,
  exchange,
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

/** The site as it is at the moment; from `begin` on it is another one at each request. */
interface Restless {
  readonly site: Site;
  readonly begin: () => void;
  /** How often the relay was killed. */
  readonly kills: () => number;
}

function restless(first: Site): Restless {
  let [current, kills, hasBegun] = [first, 0, false];
  const fetch: Site['relay']['fetch'] = async (request, peer) => {
    if (hasBegun) {
      current = await restarted(current);
      kills++;
    }
    return current.relay.fetch(request, peer);
  };
  const get = (_site: Site, name: keyof Site) => (name === 'relay' ? { ...current.relay, fetch } : current[name]);
  return {
    site: new Proxy(first, { get } as ProxyHandler<Site>),
    begin() {
      hasBegun = true;
    },
    kills: () => kills,
  };
}

/** A relay with an owner, killed from now on. Its browser is not logged in. */
async function killedSite(t: Test): Promise<Restless & { browser: Browser }> {
  const killed = restless(await openSite(t));
  await newOwner(killed.site);
  killed.begin();
  return { ...killed, browser: new Browser(killed.site) };
}

t.test('login, consent, code and refresh, with a kill before each request', async (t) => {
  const { site, browser, kills } = await killedSite(t);
  const client = await register(site);
  const login = await browser.open(authorizePath(client));
  t.match(login.text, /Log in to connect an agent/);
  const asked = await browser.send(login, 'login', { password: PASSWORD });
  t.match(asked.text, /Connect Test client\?/);
  const problem = await browser.send(asked, 'allow', { new_project: 'not a project' });
  t.match(problem.text, /not a project&quot; is not/);
  const landed = await browser.send(problem, 'allow', { new_project: 'home' });
  const code = landed.url.searchParams.get('code');
  t.ok(code, 'the client gets its code');
  const tokens = (await (await exchange(site, client, { code: code! })).json()) as Tokens;
  t.equal((await listSessions(site, tokens.access_token)).status, 200);
  const { refresh_token } = tokens;
  const renewed = (await (await refresh(site, client, { refresh_token })).json()) as Tokens;
  t.equal((await refresh(site, client, { refresh_token })).status, 200, 'the answer was lost in the kill: again');
  t.equal((await listSessions(site, renewed.access_token)).status, 200);
  site.clock.skewMs += REFRESH_REUSE_MS + 1_000;
  t.equal((await refresh(site, client, { refresh_token })).status, 400, 'the window is no longer than without kills');
  t.ok(kills() >= 14, `${kills()} kills`);
});

t.test('a code that was used before the kill is not good after it, and ends what came from it', async (t) => {
  const { site, browser } = await killedSite(t);
  const client = await register(site);
  const asked = await browser.send(await browser.open(authorizePath(client)), 'login', { password: PASSWORD });
  const code = (await browser.send(asked, 'allow', { new_project: 'home' })).url.searchParams.get('code')!;
  const tokens = (await (await exchange(site, client, { code })).json()) as Tokens;
  t.equal((await exchange(site, client, { code })).status, 400);
  t.equal((await listSessions(site, tokens.access_token)).status, 401);
});

t.test('a decision that was taken before the kill counts when it is sent again', async (t) => {
  const { site, browser } = await killedSite(t);
  const asked = await browser.send(await browser.open(authorizePath(await register(site))), 'login', {
    password: PASSWORD,
  });
  browser.follows = false;
  const first = await browser.send(asked, 'allow', { new_project: 'home' });
  const again = await browser.send(asked, 'deny');
  t.equal(again.response.headers.get('location'), first.response.headers.get('location'));
  browser.follows = true;
  t.ok((await browser.open(first.response.headers.get('location')!)).url.searchParams.get('code'));
});

t.test('pairing, with a kill before each request of the browser and of the desktop', async (t) => {
  const { site, browser, kills } = await killedSite(t);
  const form = { client_id: DESKTOP_CLIENT, desktop_name: 'laptop' };
  const answer = await post(site, '/oauth/device_authorization', { form });
  const { device_code, user_code } = (await answer.json()) as Record<string, string>;
  const poll = () => {
    site.clock.skewMs += 5_000;
    const grant = { grant_type: DEVICE_GRANT, client_id: DESKTOP_CLIENT, device_code: device_code! };
    return post(site, '/oauth/token', { form: grant });
  };
  t.match(await (await poll()).json(), { error: 'authorization_pending' });
  const login = await browser.open(`/device?user_code=${user_code}`);
  const page = await browser.send(login, 'login', { password: PASSWORD });
  const confirm = await browser.send(page, 'check');
  t.match(confirm.text, /Pair this desktop\?/);
  t.match(await (await poll()).json(), { error: 'authorization_pending' }, 'nothing is confirmed by looking');
  t.match((await browser.send(confirm, 'allow')).text, /laptop is paired/);
  t.equal((await browser.send(confirm, 'allow')).response.status, 404, 'what was decided is decided');
  const tokens = (await (await poll()).json()) as Tokens;
  const instance_id = '11111111-1111-4111-8111-111111111111';
  const body = JSON.stringify({ instance_id, projects: [], holding: [], capacity: 1, hold_ms: 0 });
  const sync = ({ access_token }: Tokens) => {
    const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' };
    return call(site, `${TRPC_PATH}/relay.sync`, { method: 'POST', headers, body });
  };
  t.equal((await sync(tokens)).status, 200);
  const client = { client_id: DESKTOP_CLIENT, verifier: '' };
  const { refresh_token } = tokens;
  await refresh(site, client, { refresh_token });
  const renewed = (await (await refresh(site, client, { refresh_token })).json()) as Tokens;
  t.equal((await sync(renewed)).status, 200, 'its old refresh token right after the kill');
  t.match((await browser.open('/owner')).text, /laptop/);
  t.ok(kills() >= 14, `${kills()} kills`);
});

t.test("the owner's login, removal and logout, with a kill before each request", async (t) => {
  const { site, browser } = await killedSite(t);
  await browser.send(await browser.open('/owner/login'), 'login', { password: PASSWORD });
  const asked = await browser.open(authorizePath(await register(site)));
  await browser.send(asked, 'allow', { new_project: 'home' });
  const [row] = site.authorization.connections.list('agent');
  const page = await browser.open('/owner');
  t.match((await browser.send(page, row!.connectionId)).text, /No agent is connected/);
  await browser.send(await browser.open('/owner'), 'here');
  t.match((await browser.open('/owner')).text, /Log in/);
});

t.test('the first owner: a kill makes the link void, the page says so, and the next link works', async (t) => {
  let site = await openSite(t);
  const browser = new Browser(site);
  const link = site.authorization.setupLink();
  const kill = async () => {
    site = await restarted(site);
    browser.site = site;
  };
  await kill();
  const void1 = await browser.open(link);
  t.equal(void1.response.status, 403, 'printed, and not opened yet');
  t.match(void1.text, /the relay was started anew since.*graph-relay owner link/s);

  const open = await browser.open(site.authorization.setupLink());
  await kill();
  const void2 = await browser.send(open, 'setup', { password: PASSWORD, again: PASSWORD });
  t.equal(void2.response.status, 403, 'opened, and not sent yet');
  t.match(void2.text, /the relay was started anew since.*graph-relay owner link/s);
  t.notOk(site.authorization.owner.exists);

  const again = await browser.open(site.authorization.setupLink());
  browser.follows = false;
  t.equal((await browser.send(again, 'setup', { password: PASSWORD, again: PASSWORD })).response.status, 303);
  await kill();
  browser.follows = true;
  t.match((await browser.open('/owner')).text, /What is connected/, 'sent, and the answer came: it is kept');
  const late = await browser.send(again, 'setup', {
    password: 'another four green words',
    again: 'another four green words',
  });
  t.equal(late.response.status, 403, 'the form cannot be sent again');
});

t.test('an official client connects, calls and renews, with a kill before each of its requests', async (t) => {
  const serving: { site: Site | null } = { site: null };
  const { server, url } = await listenHttp((request, peer) => serving.site!.relay.fetch(request, peer), {
    host: '127.0.0.1',
    port: 0,
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { site, begin, kills } = restless(await openSite(t, { url }));
  serving.site = site;
  const browser = await newOwner(site);
  begin();
  const keeper = new Keeper();
  const address = new URL('/mcp', url);
  const connectOnce = async () => {
    const client = new Client({ name: 'official', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(address, { authProvider: keeper }));
    return client;
  };
  const list = { name: 'list_graph_sessions', arguments: {} };
  await t.rejects(
    connectOnce().then((client) => client.callTool(list)),
    UnauthorizedError,
  );
  const asked = await browser.open(keeper.sentTo!.href);
  const landed = await browser.send(asked, 'allow', { new_project: 'home' });
  const finishing = new StreamableHTTPClientTransport(address, { authProvider: keeper });
  await finishing.finishAuth(landed.url.searchParams);
  const client = await connectOnce();
  t.match((await client.callTool(list)).structuredContent, { project_id: 'home' });
  const before = keeper.saved!;
  site.clock.skewMs += 61 * 60_000;
  t.match((await client.callTool(list)).structuredContent, { project_id: 'home' });
  t.not(keeper.saved!.access_token, before.access_token);
  await client.close();
  t.ok(kills() >= 12, `${kills()} kills`);
});
