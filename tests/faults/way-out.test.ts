/** Proxies of the environment and certificate authorities of one's own, for requests and for WebSockets. */
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, request as httpRequest } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, type Server } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getRequestListener } from '@hono/node-server';
import t, { type Test } from 'tap';
import { createDialers } from '../../desktop-agent/dialer/dialers.ts';
import { createHttpClient } from '../../desktop-agent/dialer/http-client.ts';
import { createOpenSocket } from '../../desktop-agent/dialer/open-socket.ts';
import { type ProxyEnvironment, proxyFor } from '../../desktop-agent/dialer/proxy-settings.ts';
import { trustAlso } from '../../desktop-agent/dialer/trust.ts';
import { systemClock } from '../../protocol/host/system-ports.ts';
import { handleUpgrades } from '../../server/upgrades.ts';
import { startRelay } from './rig.ts';

const PROBE_FILE = fileURLToPath(new URL('probe-once.ts', import.meta.url));
const noOpenssl =
  spawnSync('openssl', ['version']).error === undefined || process.env.CI ? false : 'openssl is not installed';

async function listening(t: Test, server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A forward proxy as companies have them: CONNECT, absolute addresses, and a password when one is given. */
async function startForwardProxy(t: Test, options: { password?: string } = {}) {
  const seen: string[] = [];
  const allowed = (header: string | undefined) =>
    options.password === undefined || header === `Basic ${Buffer.from(options.password).toString('base64')}`;
  const server = createHttpServer((request, response) => {
    seen.push(`${request.method} ${new URL(request.url ?? '').origin}`);
    const { 'proxy-authorization': secret, ...headers } = request.headers;
    if (!allowed(secret)) {
      response.writeHead(407, { 'content-type': 'text/html' }).end('<html>log in</html>');
      return;
    }
    const onward = httpRequest(request.url ?? '', { method: request.method ?? 'GET', headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
  server.on('connect', (request, near) => {
    seen.push(`CONNECT ${request.url}`);
    near.on('error', () => {});
    if (!allowed(request.headers['proxy-authorization'])) {
      near.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const [host = '', port = ''] = (request.url ?? '').split(':');
    const far = connect(Number(port), host, () => {
      near.write('HTTP/1.1 200 Connection established\r\n\r\n');
      near.pipe(far).pipe(near);
    });
    far.on('error', () => near.destroy());
    t.teardown(() => {
      near.destroy();
      far.destroy();
    });
  });
  t.teardown(() => server.closeAllConnections());
  const port = await listening(t, server);
  return { port, url: `http://127.0.0.1:${port}`, seen };
}

function dialersTo(t: Test, options: { url: string; token: string; environment: ProxyEnvironment }) {
  const { url, token, environment } = options;
  const client = createHttpClient({ clock: systemClock, environment });
  const open = createOpenSocket(environment);
  const dialers = createDialers({ url, token: () => token, clock: systemClock, open, ...client });
  t.teardown(() => {
    for (const dialer of Object.values(dialers)) dialer.renew?.();
  });
  return dialers;
}

const signal = new AbortController().signal;
const PROBE = { hold_ms: 0 };
const ANSWER = { held_ms: Number, server_now_ms: Number };

t.test('the variables are read as everywhere: scheme, case, exceptions, ports', async (t) => {
  const proxy = 'http://proxy.example:3128';
  const cases: [address: string, environment: ProxyEnvironment, through: boolean][] = [
    ['https://relay.example', {}, false],
    ['https://relay.example', { HTTPS_PROXY: proxy }, true],
    ['wss://relay.example', { https_proxy: proxy }, true],
    ['http://relay.example', { HTTPS_PROXY: proxy }, false],
    ['ws://relay.example', { HTTP_PROXY: proxy }, true],
    ['https://relay.example', { HTTPS_PROXY: proxy, https_proxy: '' }, false],
    ['https://relay.example', { HTTPS_PROXY: 'not an address' }, false],
    ['https://relay.example', { HTTPS_PROXY: proxy, NO_PROXY: '*' }, false],
    ['https://relay.example', { HTTPS_PROXY: proxy, NO_PROXY: 'a.example, relay.example' }, false],
    ['https://my.relay.example', { HTTPS_PROXY: proxy, NO_PROXY: '.relay.example' }, false],
    ['https://my.relay.example', { HTTPS_PROXY: proxy, NO_PROXY: '*.relay.example' }, false],
    ['https://my.relay.example', { HTTPS_PROXY: proxy, no_proxy: 'relay.example' }, false],
    ['https://notrelay.example', { HTTPS_PROXY: proxy, no_proxy: 'relay.example' }, true],
    ['https://relay.example:8443', { HTTPS_PROXY: proxy, NO_PROXY: 'relay.example:8443' }, false],
    ['https://relay.example', { HTTPS_PROXY: proxy, NO_PROXY: 'relay.example:8443' }, true],
    ['https://relay.example', { HTTPS_PROXY: proxy, NO_PROXY: 'relay.example:443' }, false],
    ['https://[::1]:8443', { HTTPS_PROXY: proxy, NO_PROXY: '::1' }, false],
    ['http://127.0.0.1:7420', { HTTP_PROXY: proxy, NO_PROXY: 'localhost,127.0.0.1' }, false],
  ];
  for (const [address, environment, through] of cases) {
    const found = proxyFor(address, environment)?.href ?? null;
    t.equal(found, through ? `${proxy}/` : null, `${address} with ${JSON.stringify(environment)}`);
  }
});

for (const transport of ['long-poll', 'websocket'] as const) {
  t.test(`calls go through HTTP_PROXY, and past it with NO_PROXY (${transport})`, async (t) => {
    const relay = await startRelay(t);
    const token = await relay.desktopToken();
    const proxy = await startForwardProxy(t);
    const through = dialersTo(t, { url: relay.url, token, environment: { HTTP_PROXY: proxy.url } });
    t.match(await through[transport].probe(PROBE, { signal }), ANSWER);
    const { host, origin } = new URL(relay.url);
    t.same(proxy.seen, [transport === 'websocket' ? `CONNECT ${host}` : `POST ${origin}`]);

    const past = { HTTP_PROXY: proxy.url, NO_PROXY: '127.0.0.1' };
    t.match(
      await dialersTo(t, { url: relay.url, token, environment: past })[transport].probe(PROBE, { signal }),
      ANSWER,
    );
    t.equal(proxy.seen.length, 1);
  });

  t.test(`a proxy gets the password of its address, and a missing one is explained (${transport})`, async (t) => {
    const relay = await startRelay(t);
    const token = await relay.desktopToken();
    const proxy = await startForwardProxy(t, { password: 'me:s cret' });
    const withPassword = proxy.url.replace('http://', 'http://me:s%20cret@');
    const good = dialersTo(t, { url: relay.url, token, environment: { http_proxy: withPassword } });
    t.match(await good[transport].probe(PROBE, { signal }), ANSWER);
    const bad = dialersTo(t, { url: relay.url, token, environment: { http_proxy: proxy.url } });
    await t.rejects(bad[transport].probe(PROBE, { signal }), { message: /407/ });
  });

  t.test(`a proxy that is away is named (${transport})`, async (t) => {
    const relay = await startRelay(t);
    const environment = { HTTP_PROXY: 'http://127.0.0.1:9' };
    const dialers = dialersTo(t, { url: relay.url, token: await relay.desktopToken(), environment });
    await t.rejects(dialers[transport].probe(PROBE, { signal }), { code: 'unreachable', message: /127\.0\.0\.1:9/ });
  });
}

/** A certificate authority and a certificate for localhost, made here. */
function makeCertificates(folder: string) {
  const file = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => {
    const { status, stderr } = spawnSync('openssl', args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`openssl ${args[0]}: ${stderr}`);
  };
  const key = (name: string) => ['-newkey', 'rsa:2048', '-nodes', '-keyout', file(name)];
  openssl('req', '-x509', ...key('ca.key'), '-out', file('ca.pem'), '-days', '2', '-subj', '/CN=Test authority');
  openssl('req', ...key('relay.key'), '-out', file('relay.csr'), '-subj', '/CN=localhost');
  writeFileSync(file('names.txt'), 'subjectAltName=DNS:localhost');
  const signing = ['-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-CAcreateserial', '-days', '2'];
  openssl(
    'x509',
    '-req',
    '-in',
    file('relay.csr'),
    ...signing,
    '-extfile',
    file('names.txt'),
    '-out',
    file('relay.pem'),
  );
  return { ca: file('ca.pem'), key: readFileSync(file('relay.key')), cert: readFileSync(file('relay.pem')) };
}

/** The relay behind TLS. */
async function startTls(t: Test, certificates: { key: Buffer; cert: Buffer }) {
  const rig = await startRelay(t);
  const { relay } = rig;
  const server = createHttpsServer(
    certificates,
    getRequestListener((request) => relay.fetch(request), { overrideGlobalObjects: false }),
  );
  handleUpgrades(server as never, {
    desktopOf: relay.access.desktopOf,
    draining: relay.draining,
    accept: relay.acceptSocket,
  });
  t.teardown(() => server.closeAllConnections());
  const port = await listening(t, server);
  return { url: `https://localhost:${port}`, token: await rig.desktopToken() };
}

/** Probes from a process of its own: trust is a setting of a whole process. */
async function probeElsewhere(args: readonly string[], env: Record<string, string> = {}) {
  const child = execFile(process.execPath, [PROBE_FILE, ...args], { env: { ...process.env, ...env } });
  let out = '';
  child.stdout?.on('data', (text) => {
    out += text;
  });
  await once(child, 'close');
  return out.trim();
}

t.test(
  'a certificate authority of one’s own is trusted when it is named, and only then',
  { skip: noOpenssl },
  async (t) => {
    const certificates = makeCertificates(t.testdir({}));
    const { url, token } = await startTls(t, certificates);
    const proxy = await startForwardProxy(t);
    const [untrusted, named, byVariable, byNode, tunnelled] = await Promise.all([
      probeElsewhere([url, token, '']),
      probeElsewhere([url, token, certificates.ca]),
      probeElsewhere([url, token, ''], { GRAPH_RELAY_CA: certificates.ca }),
      probeElsewhere([url, token, ''], { NODE_EXTRA_CA_CERTS: certificates.ca }),
      probeElsewhere([url, token, certificates.ca], { HTTPS_PROXY: proxy.url }),
    ]);
    t.match(untrusted, /long-poll: .*certificate[\s\S]*websocket: .*certificate/i);
    for (const said of [named, byVariable, byNode, tunnelled])
      t.equal(said, 'long-poll: answered\nwebsocket: answered');
    t.same(proxy.seen, Array(2).fill(`CONNECT ${new URL(url).host}`), 'both went through the proxy');
  },
);

t.test('a file that holds no certificate is refused by its name, before anything is dialled', async (t) => {
  const folder = t.testdir({
    'empty.pem': '',
    'broken.pem': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
  });
  for (const name of ['empty.pem', 'broken.pem', 'missing.pem']) {
    const path = join(folder, name);
    t.throws(() => trustAlso(path), { exit: 'usage', message: new RegExp(`${name} cannot be used: `) });
  }
});
