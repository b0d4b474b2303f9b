/** What an agent or a desktop meets that asks too often. */
import { once } from 'node:events';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { TRPC_PATH } from '../../protocol/api.ts';
import { AGENT_REQUESTS_PER_MINUTE, CALLS_PER_BATCH, DESKTOP_REQUESTS_PER_MINUTE } from '../../protocol/limits.ts';
import { PLAIN_PATH } from '../../protocol/plain-contract.ts';
import { listenHttp } from '../../server/http-server.ts';
import { DEFAULT_LIMITS } from '../../server/relay-limits.ts';
import { RequestLimits } from '../../server/request-limits.ts';
import { handleUpgrades } from '../../server/upgrades.ts';
import { ScriptedServerSocket } from '../contract/scripted-socket.ts';
import { agentToken, desktopToken, GUESSES, JSON_TYPE, PROBE, post, probe, statuses } from './askers.ts';
import {
  connect as connectAgent,
  listSessions,
  newOwner,
  openSite,
  refresh,
  rpc,
  type Site,
  type Tokens,
} from './support.ts';

t.test('an agent in a loop is told when to come back, and comes back; others never notice', async (t) => {
  const site = await openSite(t, { limits: { requestsPerAgent: 20 } });
  const token = await agentToken(site);
  t.same(await statuses(20, () => listSessions(site, token)), Array(20).fill(200), 'so many at once');
  const refused = await listSessions(site, token);
  t.equal(refused.status, 429);
  t.equal(refused.headers.get('retry-after'), '3');
  t.equal(refused.headers.get('access-control-allow-origin'), '*', 'a client in a browser can read it');
  t.match(refused.headers.get('access-control-expose-headers'), 'Retry-After');
  t.match(refused.headers.get('content-type'), /^application\/json; charset=utf-8$/);
  t.same(await refused.json(), {
    jsonrpc: '2.0',
    id: null,
    error: {
      code: -32_000,
      message:
        'This agent may send 20 requests a minute, and sends more. Try again in 3 seconds, and ask less often: get_graph_run with wait_seconds waits for news in one request.',
      data: { relayCode: 'too-many-requests', httpStatus: 429 },
    },
  });
  t.equal((await rpc(site, { token, method: 'tools/list' })).status, 429, 'whatever it asks');
  t.equal((await rpc(site, { method: 'tools/list' })).status, 200, 'who shows no token is another one');
  t.equal((await listSessions(site, await agentToken(site, 'other'))).status, 200);
  site.clock.skewMs += 3_000;
  t.same(await statuses(2, () => listSessions(site, token)), [200, 429], 'one for each of those pauses');
  site.clock.skewMs += 60_000;
  t.same(await statuses(21, () => listSessions(site, token)), [...Array(20).fill(200), 429], 'and all after a minute');
});

t.test('an agent that the owner allowed is counted as one, whatever its token of the hour is', async (t) => {
  const site = await openSite(t, { limits: { requestsPerAgent: 5 } });
  const { client, tokens } = await connectAgent(site, await newOwner(site));
  const { refresh_token } = tokens;
  const renewed = (await (await refresh(site, client, { refresh_token })).json()) as Tokens;
  t.same(await statuses(3, () => listSessions(site, tokens.access_token)), [200, 200, 200]);
  t.same(await statuses(3, () => listSessions(site, renewed.access_token)), [200, 200, 429]);
  t.equal((await listSessions(site, tokens.access_token)).status, 429);
});

t.test('messages that come together count each', async (t) => {
  const site = await openSite(t, { limits: { requestsPerAgent: 20, requestsPerDesktop: 20 } });
  const agent = await agentToken(site);
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const batch = () => post(site, '/mcp', { token: agent, body: Array(15).fill(ping) });
  t.not((await batch()).status, 429);
  t.equal((await batch()).status, 429);
  t.equal((await listSessions(site, agent)).status, 200, 'what is left goes on');

  const desktop = await desktopToken(site);
  const calls = (count: number) => {
    const path = `${TRPC_PATH}/${Array(count).fill('relay.probe').join(',')}?batch=1`;
    return post(site, path, { token: desktop, body: Object.fromEntries(Array(count).fill(PROBE).entries()) });
  };
  t.equal((await calls(15)).status, 200);
  t.equal((await calls(15)).status, 429);
  site.clock.skewMs += 60_000;
  t.equal((await calls(CALLS_PER_BATCH + 1)).status, 400, 'and there is an end to what comes together');
  site.clock.skewMs += 60_000;
  t.equal((await calls(CALLS_PER_BATCH)).status, 200, 'more than a minute has is taken when nothing was asked before');
  t.equal((await probe(site, desktop)).status, 429);
});

t.test('a desktop is counted over all its ways together, and is told in the words of each', async (t) => {
  const site = await openSite(t, { limits: { requestsPerDesktop: 6 } });
  await agentToken(site);
  const token = await desktopToken(site);
  const other = await desktopToken(site, 'other');
  const socket = new ScriptedServerSocket();
  site.relay.acceptSocket(socket, site.relay.access.desktopOf(token)!.desktopId);
  t.same(await statuses(2, () => probe(site, token)), [200, 200]);
  const plain = () => post(site, `${PLAIN_PATH}/sync`, { token, body: { project_id: 'home', sessions: [] } });
  t.equal((await plain()).status, 200);
  const answered = (id: number) => socket.answers.find((answer) => answer.id === id);
  for (const id of [1, 2, 3]) socket.call(id, 'probe', PROBE);
  await new Promise((done) => setImmediate(done));
  t.match(answered(3)?.result?.data, {}, 'six in all');
  socket.call(4, 'probe', PROBE);
  socket.says({ id: 5, method: 'mutation', params: { path: 'relay.nothing' } });
  socket.says([6, 7].map((id) => ({ id, method: 'mutation', params: { path: 'relay.probe', input: PROBE } })));
  socket.says('nothing of ours');
  const wire = { message: /^This desktop may send 6 requests a minute.*Try again in \d+ seconds/, code: Number };
  for (const id of [4, 5, 6, 7]) {
    t.match(answered(id), { error: { ...wire, data: { relayCode: 'too-many-requests', httpStatus: 429 } } });
  }
  t.notOk(
    socket.did.some((did) => did.startsWith('close')),
    'the connection stays',
  );

  const overHttp = await probe(site, token);
  t.equal(overHttp.status, 429);
  t.equal(overHttp.headers.get('retry-after'), '10');
  t.match(await overHttp.json(), { error: { ...wire, data: { relayCode: 'too-many-requests', httpStatus: 429 } } });
  const overPlain = await plain();
  t.equal(overPlain.status, 429);
  t.equal(overPlain.headers.get('retry-after'), '10');
  t.match(await overPlain.json(), { error: { code: 'too-many-requests', message: wire.message } });

  t.equal((await probe(site, other)).status, 200, 'another desktop is not touched');
  site.clock.skewMs += 10_000;
  socket.call(8, 'probe', PROBE);
  await new Promise((done) => setImmediate(done));
  t.match(answered(8), { result: {} }, 'served again over the same connection');
});

t.test('what is refused was not read', async (t) => {
  const site = await openSite(t, { limits: { requestsPerAgent: 1, requestsPerDesktop: 1 } });
  const [agent, desktop] = [await agentToken(site), await desktopToken(site)];
  await listSessions(site, agent);
  await probe(site, desktop);
  for (const [path, token] of [
    ['/mcp', agent],
    [`${TRPC_PATH}/relay.complete`, desktop],
    [`${PLAIN_PATH}/complete`, desktop],
  ] as const) {
    const pull = (controller: ReadableStreamDefaultController) => {
      t.fail(`${path} was read`);
      controller.close();
    };
    const body = new ReadableStream({ pull }, { highWaterMark: 0 });
    const headers = { ...JSON_TYPE, host: new URL(site.url).host, authorization: `Bearer ${token}` };
    const request = new Request(new URL(path, site.url), {
      method: 'POST',
      headers,
      body,
      duplex: 'half',
    } as RequestInit);
    t.equal((await site.relay.fetch(request, { address: '203.0.113.7' })).status, 429, path);
  }
});

t.test("an agent's token on a desktop's routes is its agent's request", async (t) => {
  const site = await openSite(t, { limits: { requestsPerAgent: 3 } });
  const token = await agentToken(site);
  t.same(await statuses(4, () => probe(site, token)), [403, 403, 403, 429]);
  t.equal((await listSessions(site, token)).status, 429);
});

t.test('a limit of 0 is none', async (t) => {
  const off = { requestsPerAgent: 0, requestsPerDesktop: 0 };
  const site = await openSite(t, { limits: off });
  t.equal((await listSessions(site, await agentToken(site))).status, 200);
  t.equal((await probe(site, await desktopToken(site))).status, 200);
  const { clock, log } = site.ports;
  const limits = new RequestLimits({ clock, log, limits: off });
  const usual = new RequestLimits({ clock, log, limits: DEFAULT_LIMITS });
  for (const [kind, most] of [
    ['agent', AGENT_REQUESTS_PER_MINUTE],
    ['desktop', DESKTOP_REQUESTS_PER_MINUTE],
  ] as const) {
    for (let count = 0; count < most; count++) for (const each of [limits, usual]) each.admit(kind, 'somebody');
    limits.admit(kind, 'somebody');
    t.throws(() => usual.admit(kind, 'somebody'), { code: 'too-many-requests', retryAfterSeconds: 1 });
  }
});

t.test('a flood is one line of the log in a minute', async (t) => {
  const site = await openSite(t, { limits: { requestsPerAgent: 1 } });
  const token = await agentToken(site);
  const { agentId } = site.relay.access.agentOf(token)!;
  const lines = () => site.lines.filter(({ event }) => event === 'door.limited').map(({ fields }) => fields);
  await statuses(50, () => listSessions(site, token));
  await statuses(GUESSES + 50, () => listSessions(site, 'gra_x'));
  t.same(lines(), [
    { kind: 'agent', agent_id: agentId, wait_seconds: 60 },
    { kind: 'bad-token', address: '203.0.113.7', wait_seconds: 1 },
  ]);
  site.clock.skewMs += 60_000;
  await statuses(50, () => listSessions(site, token));
  t.equal(lines().length, 3);
  t.notMatch(JSON.stringify(site.lines), /gra_/);
});

/** Asks for a WebSocket by hand; gives back the head of the answer and its body. */
async function upgrades(t: Test, site: Site): Promise<(token: string) => Promise<string>> {
  const { server, url } = await listenHttp(site.relay.fetch, { host: '127.0.0.1', port: 0 });
  handleUpgrades(server, {
    desktopOf: site.relay.desktopOf,
    draining: () => false,
    accept: (socket) => socket.terminate(),
  });
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return async (token) => {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1' }).on('error', () => {});
    let answer = '';
    socket.on('data', (bytes) => {
      answer += bytes;
    });
    const lines = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13'];
    const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
    const own = [`GET ${TRPC_PATH} HTTP/1.1`, 'Host: 127.0.0.1', `Authorization: Bearer ${token}`];
    socket.write([...own, ...lines, key, '', ''].join('\r\n'));
    await once(socket, 'close');
    return answer;
  };
}

t.test('a WebSocket is a request too, and so is a guess for one', async (t) => {
  const site = await openSite(t, { limits: { requestsPerDesktop: 2 } });
  const token = await desktopToken(site);
  const ask = await upgrades(t, site);
  for (let count = 0; count < 2; count++) t.match(await ask(token), /^HTTP\/1\.1 101 /);
  t.match(await ask(token), /^HTTP\/1\.1 429 .*\r\nRetry-After: 30\r\n.*"relayCode":"too-many-requests"/s);
  for (let count = 0; count < GUESSES; count++) t.match(await ask('grd_x'), /^HTTP\/1\.1 401 /);
  t.match(await ask('grd_x'), /^HTTP\/1\.1 429 .*\r\nRetry-After: 1\r\n/s);
});
