import t from 'tap';
import { TRPC_PATH } from '../../protocol/api.ts';
import { RUN_NOT_FOUND } from '../../protocol/texts.ts';
import { call, connect, listSessions, newOwner, openSite, restarted, rpc, type Site } from './support.ts';

const SESSION = 'gs_0123456789abcdef0123456789abcdef';
const INSTANCE = '11111111-1111-4111-8111-111111111111';

/** A desktop shares one session with the project; it never takes anything. */
async function share(site: Site): Promise<void> {
  const { token } = await site.relay.access.createToken({ kind: 'desktop', name: 'pc' });
  const session = {
    graph_session_id: SESSION,
    name: 'Hello',
    description: '',
    slug: 'hello',
    version: 1,
    status: 'ready',
  };
  const projects = [{ project_id: 'home', sessions: [session] }];
  const body = JSON.stringify({ instance_id: INSTANCE, projects, holding: [], capacity: 0, hold_ms: 0 });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await call(site, `${TRPC_PATH}/relay.sync`, { method: 'POST', headers, body });
  site.t.equal(response.status, 200, 'the session is shared');
}

// biome-ignore lint/suspicious/noExplicitAny: results of several tools.
async function tool(site: Site, token: string, [name, args]: readonly [string, object]): Promise<any> {
  const response = await rpc(site, { token, method: 'tools/call', params: { name, arguments: args } });
  const text = await response.text();
  const data = text.split('\n').filter((line) => line.startsWith('data: '));
  return JSON.parse(data.length > 0 ? data.at(-1)!.slice(6) : text).result;
}

function start(site: Site, token: string) {
  return tool(site, token, [
    'run_graph_session',
    {
      graph_session_id: SESSION,
      idempotency_key: 'key-12345',
      arguments: {},
    },
  ]);
}

t.test(
  'the owner removes an agent: its tokens end at once, and what it waited for ends with the text for a run that is not there',
  async (t) => {
    const site = await openSite(t);
    const browser = await newOwner(site);
    const { client, tokens } = await connect(site, browser);
    await share(site);
    const { command_id } = (await start(site, tokens.access_token)).structuredContent;
    t.match(command_id, String);
    const waiting = tool(site, tokens.access_token, ['get_graph_run', { command_id, wait_seconds: 50 }]);
    const page = await browser.open('/owner');
    t.match(page.text, /Test client.*start and read runs in home/s);
    const [row] = site.authorization.connections.list('agent');
    const after = await browser.send(page, row!.connectionId);
    t.match(after.text, /No agent is connected/);
    t.match(await waiting, { isError: true, content: [{ text: RUN_NOT_FOUND }] });
    const refused = await listSessions(site, tokens.access_token);
    t.equal(refused.status, 401);
    t.match(refused.headers.get('www-authenticate'), /error="invalid_token".*resource_metadata=/);
    t.equal(
      (await rpc(site, { token: tokens.access_token, method: 'tools/list' })).status,
      401,
      'it notices whatever it asks',
    );

    const again = await connect(site, browser);
    t.match(await tool(site, again.tokens.access_token, ['get_graph_run', { command_id }]), {
      isError: true,
      content: [{ text: RUN_NOT_FOUND }],
    });
    t.not(again.client.client_id, client.client_id);
  },
);

t.test('two grants of one client are two agents, which do not see each other, also after a restart', async (t) => {
  let site = await openSite(t);
  const browser = await newOwner(site);
  const one = await connect(site, browser, { name: 'one' });
  const two = await connect(site, browser, { name: 'two' });
  await share(site);
  const { command_id } = (await start(site, one.tokens.access_token)).structuredContent;
  for (let round = 0; round < 2; round++) {
    t.match(await tool(site, two.tokens.access_token, ['get_graph_run', { command_id }]), {
      isError: true,
      content: [{ text: RUN_NOT_FOUND }],
    });
    const own = await tool(site, one.tokens.access_token, ['get_graph_run', { command_id }]);
    t.match(own.structuredContent, { status: 'queued' });
    site = await restarted(site);
  }
});

t.test('who may read only is told so with 403, and names both scopes', async (t) => {
  const site = await openSite(t);
  const { tokens } = await connect(site, await newOwner(site), { scope: ['osfoundry:read'] });
  const params = { name: 'run_graph_session', arguments: {} };
  const refused = await rpc(site, { token: tokens.access_token, method: 'tools/call', params });
  t.equal(refused.status, 403);
  t.match(
    refused.headers.get('www-authenticate'),
    /error="insufficient_scope".*resource_metadata=.*scope="osfoundry:read osfoundry:run"/,
  );
  t.equal((await listSessions(site, tokens.access_token)).status, 200);
});

t.test("tokens of the command line go on working, and an agent's token opens nothing of a desktop", async (t) => {
  const site = await openSite(t);
  const { tokens } = await connect(site, await newOwner(site));
  const made = await site.relay.access.createToken({ kind: 'agent', name: 'cli', projects: ['home'] });
  t.equal((await listSessions(site, made.token)).status, 200);
  const headers = { authorization: `Bearer ${tokens.access_token}`, 'content-type': 'application/json' };
  const response = await call(site, `${TRPC_PATH}/relay.sync`, { method: 'POST', headers, body: '{}' });
  t.equal(response.status, 403);
  t.equal(site.authorization.desktopOf(tokens.access_token), null);
  t.equal(site.authorization.agentOf(tokens.refresh_token), null, 'nor is a refresh token an access token');
});

t.test('a revoked token of the command line ends what its agent waited for', async (t) => {
  const site = await openSite(t);
  const made = await site.relay.access.createToken({ kind: 'agent', name: 'cli', projects: ['home'] });
  await share(site);
  const { command_id } = (await start(site, made.token)).structuredContent;
  const waiting = tool(site, made.token, ['get_graph_run', { command_id, wait_seconds: 50 }]);
  await listSessions(site, made.token);
  await site.relay.access.revokeToken('cli');
  t.match(await waiting, { isError: true, content: [{ text: RUN_NOT_FOUND }] });
});
