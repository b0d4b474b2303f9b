/**
 * The relay behind TLS, with the very configurations of the README: nginx and Caddy as Debian has them, a certificate that
 * nobody but us knows, the official MCP client, and a desktop that pairs and runs by each transport.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import t, { type Test } from 'tap';
import type { RunView } from '../../server/agent-api.ts';
import { Keeper } from '../auth/keeper.ts';
import type { Browser } from '../auth/support.ts';
import { freePort, missing, runProxy } from '../faults/proxy-programs.ts';
import { becomeOwner, pairDesktop } from './browser.ts';
import { graphSource, type Relay, shareOnline, startRelay, writeGraph } from './relay-world.ts';
import { expectProcesses, launch, tempFolder } from './support.ts';

expectProcesses(t);

/** Not one of the names of this machine that the relay knows, so everything depends on the proxy. */
const HOST = '127.0.0.2';
const README = readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8');

interface Front {
  readonly folder: string;
  readonly port: number;
  /** Where the relay listens. */
  readonly target: string;
}

/** The README's block in this language, with its example's names replaced. */
function snippet(language: string, replaced: Readonly<Record<string, string>>): string {
  const block = new RegExp(`\`\`\`${language}\n(.*?)\n\`\`\``, 's').exec(README)![1]!;
  return Object.entries(replaced).reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the README's ${language} does not say ${from}`);
    return text.replaceAll(from, to);
  }, block);
}

function startNginx(t: Test, { folder, port, target }: Front) {
  mkdirSync(join(folder, 'temp'));
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path temp/${name};`);
  const server = snippet('nginx', {
    'listen 443 ssl': `listen ${HOST}:${port} ssl`,
    'server_name relay.example': `server_name ${HOST}`,
    '/etc/ssl/relay.example.pem': join(folder, 'cert.pem'),
    '/etc/ssl/relay.example.key': join(folder, 'key.pem'),
    'http://127.0.0.1:7420': target,
  });
  const around = `pid nginx.pid;\nerror_log error.log;\nevents {}\nhttp {\naccess_log off;\n${temp.join(' ')}\n`;
  writeFileSync(join(folder, 'nginx.conf'), `${around}${server}\n}\n`);
  const args = ['-p', `${folder}/`, '-c', 'nginx.conf', '-g', 'daemon off;'];
  return runProxy(t, { program: 'nginx', args, url: `https://${HOST}:${port}` });
}

function startCaddy(t: Test, { folder, port, target }: Front) {
  const url = `https://${HOST}:${port}`;
  const site = snippet('caddyfile', {
    // Here it cannot ask for one.
    'relay.example {': `${url} {\n\ttls ${join(folder, 'cert.pem')} ${join(folder, 'key.pem')}\n\tbind ${HOST}`,
    '127.0.0.1:7420': new URL(target).host,
  });
  const config = join(folder, 'Caddyfile');
  writeFileSync(config, `{\n\tadmin off\n\tauto_https off\n}\n${site}\n`);
  const args = ['run', '--config', config, '--adapter', 'caddyfile'];
  const env = { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder, HOME: folder };
  return runProxy(t, { program: 'caddy', args, url, env });
}

function makeCertificate(folder: string): string {
  const file = join(folder, 'cert.pem');
  const names = `subjectAltName=IP:${HOST}`;
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const to = ['-subj', '/CN=relay', '-addext', names, '-keyout', join(folder, 'key.pem'), '-out', file];
  execFileSync('openssl', [...args, ...to], { stdio: 'ignore' });
  if (!existsSync(file)) throw new Error('openssl made no certificate');
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(file, 'utf8')]);
  return file;
}

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

const FRONTS = { nginx: startNginx, caddy: startCaddy };

for (const [name, start] of Object.entries(FRONTS)) {
  const skip = missing(name, name === 'caddy' ? 'version' : '-v') || missing('openssl', 'version');
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
