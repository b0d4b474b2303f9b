import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import t from 'tap';
import { COMMAND, createWorld, ERAS, type Era, GOOD, MODERN_VERSION, SESSION, type World } from './fixtures.ts';

/** Connects the official client to an endpoint, without a network between them. */
async function connect(world: World, era: Era, token?: string): Promise<Client> {
  const transport = new StreamableHTTPClientTransport(new URL('http://relay.test/mcp'), {
    ...(token === undefined ? {} : { authProvider: { token: async () => token } }),
    fetch: (url, init) => world.endpoint.fetch(new Request(url, init)),
  });
  const mode = era === '2026' ? { pin: MODERN_VERSION } : 'legacy';
  const client = new Client({ name: 'official', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(transport);
  return client;
}

for (const era of ERAS) {
  t.test(`the official client lists the tools without a token, in ${era}`, async (t) => {
    const client = await connect(createWorld(), era);
    const { tools } = await client.listTools();
    t.strictSame(
      tools.map(({ name, _meta }) => [
        name,
        (_meta as { securitySchemes: { scopes: string[] }[] }).securitySchemes[0]?.scopes,
      ]),
      [
        ['list_graph_sessions', ['osfoundry:read']],
        ['run_graph_session', ['osfoundry:run']],
        ['get_graph_run', ['osfoundry:read']],
        ['cancel_graph_run', ['osfoundry:run']],
      ],
    );
    t.match(client.getServerVersion(), { name: 'graph-relay', version: '1.2.3' });
    t.match(client.getInstructions(), /run_graph_session/);
    await client.close();
  });

  t.test(`the official client starts a run and reads its result, in ${era}`, async (t) => {
    const world = createWorld();
    const client = await connect(world, era, GOOD);
    const started = await client.callTool({
      name: 'run_graph_session',
      arguments: { graph_session_id: SESSION, idempotency_key: 'key-12345', arguments: { city: 'Łódź' } },
    });
    t.match(started.structuredContent, { command_id: COMMAND, status: 'queued', replayed: false });
    world.api.run = { status: 'completed', result: { text: '报告\u2028🚀' } };
    const read = await client.callTool({
      name: 'get_graph_run',
      arguments: { command_id: COMMAND, wait_seconds: 20 },
    });
    t.match(read.structuredContent, { status: 'completed', result: { text: '报告\u2028🚀' } });
    await client.close();
  });

  t.test(`the official client gets a refused input as a result, in ${era}`, async (t) => {
    const client = await connect(createWorld(), era, GOOD);
    const result = await client.callTool({ name: 'cancel_graph_run', arguments: { command_id: 'latest' } });
    t.match(result, { isError: true, content: [{ type: 'text', text: /^command_id is not an id/ }] });
    await client.close();
  });

  t.test(`the official client is told that its token is missing, in ${era}`, async (t) => {
    const client = await connect(createWorld(), era);
    await t.rejects(client.callTool({ name: 'list_graph_sessions', arguments: {} }), /401|access token/i);
    await client.close();
  });

  t.test(`the official client that gives up a wait ends it on the server, in ${era}`, async (t) => {
    const world = createWorld();
    const arrived = Promise.withResolvers<AbortSignal>();
    world.api.before = async ({ request }) => {
      const signal = request.signal as AbortSignal;
      arrived.resolve(signal);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    };
    const client = await connect(world, era, GOOD);
    const giveUp = new AbortController();
    const input = { name: 'get_graph_run', arguments: { command_id: COMMAND, wait_seconds: 50 } };
    const call = client.callTool(input, { signal: giveUp.signal });
    const signal = await arrived.promise;
    giveUp.abort();
    await t.rejects(call);
    // A client of 2025 keeps the stream of a cancelled request, and says that it is cancelled in another one.
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    t.equal(signal.aborted, true);
    await client.close();
  });
}

t.test('the official client that may choose speaks the newest protocol', async (t) => {
  const world = createWorld();
  const transport = new StreamableHTTPClientTransport(new URL('http://relay.test/mcp'), {
    fetch: (url, init) => world.endpoint.fetch(new Request(url, init)),
  });
  const client = new Client({ name: 'official', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  await client.connect(transport);
  t.equal(client.getNegotiatedProtocolVersion(), MODERN_VERSION);
  await client.close();
});
