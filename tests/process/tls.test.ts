/**
 * The relay behind TLS, with the very configurations of the README: nginx and Caddy as Debian has them, a certificate that
 * nobody but us knows, the official MCP client, and a desktop that pairs and runs by each transport.
 */
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import t, { type Test } from 'tap';
import type { RunView } from '../../server/agent-api.ts';
import { Keeper } from '../auth/keeper.ts';
import type { Browser } from '../auth/support.ts';
import { freePort } from '../faults/proxy-programs.ts';
import { becomeOwner, pairDesktop } from './browser.ts';
import { graphSource, type Relay, shareOnline, startRelay, writeGraph } from './relay-world.ts';
import { expectProcesses, launch, tempFolder } from './support.ts';
import { FRONTS, HOST, makeCertificate, missingFront } from './tls-fronts.ts';

expectProcesses(t);

/** Logs the official client in, as its user does in a browser. */
async function logIn(t: Test, url: string, browser: Browser): Promise<Client> {
  const keeper = new Keeper();
  const transport = () => new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider: keeper });
  const first = new Client({ name: 'official', version: '1' });
  await first.connect(transport());
  await t.rejects(first.callTool({ name: 'list_graph_sessions', arguments: {} }), UnauthorizedError);
  t.equal(keeper.sentTo!.origin, url, 'its user is sent to the public address');
  const landed = await browser.send(await browser.open(keeper.sentTo!.href), 'allow', { new_project: 'home' });
  await transport().finishAuth(landed.url.searchParams);
  const client = new Client({ name: 'official', version: '1' });
  await client.connect(transport());
  t.teardown(() => client.close());
  return client;
}

async function runGraph(client: Client, session: string, a: number): Promise<RunView> {
  const call = async (name: string, args: Record<string, unknown>) => {
    const { structuredContent } = await client.callTool({ name, arguments: args });
    return structuredContent as unknown as RunView & { command_id: string };
  };
  const started = { graph_session_id: session, idempotency_key: `key-of-run-${a}`, arguments: { a, b: 2 } };
  const { command_id } = await call('run_graph_session', started);
  for (;;) {
    const view = await call('get_graph_run', { command_id, wait_seconds: 20 });
    if (view.status !== 'queued' && view.status !== 'running') return view;
  }
}

/** Only the proxy's own address is spoken to; what it forwards is believed as far as it may be. */
async function lookAtEdges(t: Test, relay: Relay, url: string): Promise<void> {
  const answer = await fetch(`${url}/mcp`, { headers: { 'x-forwarded-host': 'evil.example' } });
  t.match(answer.headers.get('strict-transport-security'), /max-age/);
  t.match(await (await fetch(`${url}/.well-known/oauth-authorization-server`)).json(), { issuer: url });
  await fetch(`${url}/owner/setup?token=guessed`, { headers: { 'x-forwarded-for': '198.51.100.66' } });
  t.match(await relay.process.line('owner.setup-refused'), { address: /^127\.0\.0\.\d$/ }, 'nobody says who they are');
}

for (const [name, start] of Object.entries(FRONTS)) {
  const skip = missingFront(name);
  t.test(`behind ${name} with TLS the official client logs in and runs, and a desktop serves`, { skip }, async (t) => {
    const data = await tempFolder(t);
    const folder = await tempFolder(t);
    const certificate = makeCertificate(folder);
    const port = await freePort();
    const url = `https://${HOST}:${port}`;
    const relay = await startRelay(t, data, { env: { GRAPH_RELAY_PUBLIC_URL: url } });
    await start(t, { folder, port, target: relay.url });
    const browser = await becomeOwner(t, { ...relay, url });
    await lookAtEdges(t, relay, url);
    const env = { GRAPH_RELAY_CA: certificate };
    await pairDesktop(t, { data, url, browser, env });
    const client = await logIn(t, url, browser);
    await writeGraph(data, 'add.js', graphSource('add', 'return args.a + args.b;'));
    let session: string | null = null;
    for (const [index, mode] of ['long-poll', 'websocket'].entries()) {
      const desktop = launch(t, ['desktop', '--relay', url, '--data', data, '--mode', mode], { env });
      await desktop.line('relay.connected');
      session ??= await shareOnline(data, 'add.js');
      t.match(await runGraph(client, session, index), { status: 'completed', result: index + 2 }, mode);
      t.match(await desktop.end(), { code: 0 });
    }
    t.match((await browser.open('/owner')).text, /<strong>Official<\/strong>.*<strong>studio<\/strong>/s);
  });
}
