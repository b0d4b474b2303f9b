/** The relay's handler as strangers see it: tokens, bodies, paths, and what errors tell. */
import { createTRPCClient, httpLink } from '@trpc/client';
import t from 'tap';
import { type RelayRouter, TRPC_PATH } from '../../protocol/api.ts';
import { BODY_BYTES } from '../../protocol/limits.ts';
import { connectedSite, newAgent, newDesk, offeredIds, PROJECT, queue, read, session, startedRun } from './support.ts';

const SYNC = `http://relay.test${TRPC_PATH}/relay.sync`;
const JSON_TYPE = { 'content-type': 'application/json' };

function streamOf(chunks: Iterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.iterator]();
  return new ReadableStream({
    pull(controller) {
      const { done, value } = iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}

function chunked(url: string, token: string, chunks: Iterable<Uint8Array>): Request {
  const headers = { ...JSON_TYPE, authorization: `Bearer ${token}` };
  return new Request(url, { method: 'POST', headers, body: streamOf(chunks), duplex: 'half' } as RequestInit);
}

t.test("only a desktop's own living token opens the calls of a desktop", async (t) => {
  const { site, desk, agentToken } = await connectedSite();
  const revoked = await newDesk(site, 'revoked');
  await site.clock.settle(site.relay.access.revokeToken('revoked'));
  const refused: Record<string, string | null> = {
    'no header': null,
    'an empty header': '',
    'another scheme': `Basic ${desk.token}`,
    'the scheme alone': 'Bearer',
    'a token alone': desk.token,
    'a made-up token': `Bearer grd_${'0'.repeat(64)}`,
    'an agent token with the other prefix': `Bearer ${agentToken.replace('gra_', 'grd_')}`,
    'a revoked token': `Bearer ${revoked.token}`,
    'a token that is cut': `Bearer ${desk.token.slice(0, -1)}`,
    'a token in capitals': `Bearer ${desk.token.toUpperCase()}`,
  };
  for (const call of ['sync', 'control', 'complete', 'nothing']) {
    for (const [name, authorization] of Object.entries(refused)) {
      const headers = authorization === null ? JSON_TYPE : { ...JSON_TYPE, authorization };
      const request = new Request(`http://relay.test${TRPC_PATH}/relay.${call}`, {
        method: 'POST',
        headers,
        body: '{}',
      });
      const response = await site.relay.fetch(request);
      t.equal(response.status, 401, `${call} with ${name}`);
      t.equal(response.headers.get('www-authenticate'), 'Bearer');
      t.match(await response.json(), { error: { data: { relayCode: 'unauthorized', httpStatus: 401 } } });
    }
  }
  t.equal((await desk.sync()).status, 200);

  const agents = { method: 'POST', headers: { ...JSON_TYPE, authorization: `Bearer ${agentToken}` }, body: '{}' };
  const response = await site.relay.fetch(new Request(SYNC, agents));
  t.equal(response.status, 403, 'a token that is good elsewhere is told apart');
  t.match(await response.json(), { error: { data: { relayCode: 'forbidden', httpStatus: 403 } } });
});

t.test('the scheme of a token is taken in any case', async (t) => {
  const { site, desk } = await connectedSite();
  const headers = { ...JSON_TYPE, authorization: `bearer ${desk.token}` };
  const response = await site.relay.fetch(new Request(SYNC, { method: 'POST', headers, body: '{}' }));
  t.equal(response.status, 400, 'it came as far as the input');
});

t.test('a token that is revoked during a hold ends the hold at once, and is refused from then on', async (t) => {
  const { site, desk } = await connectedSite();
  const held = await desk.hold();
  await site.clock.advance(1_000);
  t.equal(held.value, null, 'it is held');
  await site.clock.settle(site.relay.access.revokeToken('desktop'));
  await site.clock.advance(0);
  t.equal(held.value?.status, 401);
  t.equal((await desk.sync()).status, 401);
});

t.test('a body that declares too much is refused without being read', async (t) => {
  const { site, desk } = await connectedSite();
  let pulled = 0;
  const body = streamOf(
    (function* () {
      pulled++;
      yield new Uint8Array(10);
    })(),
  );
  const headers = {
    ...JSON_TYPE,
    authorization: `Bearer ${desk.token}`,
    'content-length': String(BODY_BYTES + 1),
  };
  const request = new Request(SYNC, { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
  const before = pulled;
  const response = await site.relay.fetch(request);
  t.equal(response.status, 413);
  t.match(await response.json(), { error: { data: { relayCode: 'too-large' } } });
  t.ok(pulled <= before + 1, 'no more than the stream itself reads ahead');
});

t.test('a body without a declared length is not read beyond the limit', async (t) => {
  const { site, desk } = await connectedSite();
  const chunk = new Uint8Array(1024 * 1024).fill(0x20);
  let sent = 0;
  const endless = (function* () {
    for (;;) {
      sent += chunk.byteLength;
      yield chunk;
    }
  })();
  const response = await site.relay.fetch(chunked(SYNC, desk.token, endless));
  t.equal(response.status, 413);
  t.ok(sent <= BODY_BYTES + 3 * chunk.byteLength, `${sent} bytes were taken`);
});

for (const size of [1, 3, 1_023]) {
  t.test(`bodies in segments of ${size} bytes are read as they were sent (C133)`, async (t) => {
    const { site, agent, desk } = await connectedSite();
    const name = `${'漢字'.repeat(40)}\u{1f469}\u200d\u{1f469}\u200d\u{1f467}`;
    const segments = (value: unknown) => {
      const bytes = new TextEncoder().encode(JSON.stringify(value));
      return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.slice(i * size, (i + 1) * size));
    };
    const projects = [{ project_id: PROJECT, sessions: [session({ name })] }];
    const sync = { instance_id: desk.instance, projects, holding: [], capacity: 0, hold_ms: 0 };
    t.equal((await site.relay.fetch(chunked(SYNC, desk.token, segments(sync)))).status, 200);
    const { sessions } = await site.relay.agents.listSessions(agent, { project_id: PROJECT, limit: 1 });
    t.equal(sessions[0]?.name, name);
    const commandId = await startedRun({ site, agent, desk });
    const result = { text: `${name}\u0085\u2028` };
    const ids = { command_id: commandId, execution_id: desk.execution(commandId) };
    const completion = segments({ ...ids, status: 'completed', result });
    const url = SYNC.replace('relay.sync', 'relay.complete');
    t.equal((await site.relay.fetch(chunked(url, desk.token, completion))).status, 200);
    t.strictSame((await read(site, agent, commandId)).result, result);
  });
}

t.test('a path that is nothing is a 404 that says where clients connect', async (t) => {
  const { site } = await connectedSite();
  for (const path of ['/', '/trpc', '/trpcs/relay.sync', '/MCP', '/__proto__', '/constructor', '/mcp/more', '//mcp']) {
    const response = await site.relay.fetch(new Request(`http://relay.test${path}`, { method: 'POST', body: '{}' }));
    t.equal(response.status, 404, path);
    t.match(await response.json(), { error: { code: 'not-found', message: /connect to \/mcp/ } }, path);
  }
});

t.test('every answer names its character set (C134)', async (t) => {
  const { site, desk } = await connectedSite();
  const types = [
    (await desk.sync()).headers.get('content-type'),
    (await desk.post('sync', {})).headers.get('content-type'),
    (await desk.post('nothing', {})).headers.get('content-type'),
  ];
  for (const path of ['/healthz', '/readyz', '/nothing', '/trpc/relay.sync', '/mcp']) {
    const response = await site.relay.fetch(new Request(`http://relay.test${path}`));
    types.push(response.headers.get('content-type'));
    await response.text();
  }
  for (const type of types) t.match(type, /^application\/json; ?charset=utf-8$/i);
});

t.test('a fault is told neutrally, logged in full, and never with a stack on the wire', async (t) => {
  const { site, desk } = await connectedSite();
  site.store.synced = () => Promise.reject(new Error('secret detail'));
  const reply = await desk.control('11111111-1111-4111-8111-111111111111');
  t.equal(reply.status, 500);
  t.notMatch(reply.text, /secret|stack|\.ts/);
  const line = site.lines.find(({ event }) => event === 'relay.fault');
  t.match(line, { level: 'error', fields: { call: 'control', desktop_id: desk.desktopId } });
  t.match(line?.fields.err, { message: 'secret detail' });
});

t.test('the typed client speaks to the relay as a raw request does', async (t) => {
  const { site, agent, desk } = await connectedSite();
  const { command_id } = await queue(site, agent);
  const client = createTRPCClient<RelayRouter>({
    links: [
      httpLink({
        url: `http://relay.test${TRPC_PATH}`,
        headers: { authorization: `Bearer ${desk.token}` },
        fetch: (input, init) => site.relay.fetch(new Request(input as string, init as RequestInit)),
      }),
    ],
  });
  const projects = [{ project_id: PROJECT, sessions: [session()] }];
  const input = { instance_id: desk.instance, projects, holding: [], capacity: 1, hold_ms: 0 };
  const answer = await site.clock.settle(client.relay.sync.mutate(input));
  t.same(answer, { ...(await desk.sync({ holding: [command_id] })).data, commands: answer.commands });
  t.same(
    answer.commands.map((command) => command.command_id),
    [command_id],
  );
  t.same(offeredIds(await desk.sync({ holding: [command_id] })), []);
});

t.test("an agent's token is for its own side only", async (t) => {
  const { site } = await connectedSite();
  const { token } = await newAgent(site, 'second');
  t.equal(site.relay.access.desktopOf(token), null);
});
