/** Who came in, who was let in, and who was not: one line of the log for each, by names that stay, and no secret in any. */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import {
  allow,
  authorizePath,
  Browser,
  call,
  connect,
  newOwner,
  openSite,
  PASSWORD,
  post,
  register,
  type Site,
} from './support.ts';

const DESKTOP = 'graph-relay-desktop';

/** The events of these rooms, in their order, since the last look. */
function news(site: Site): string[] {
  const rooms = /^(owner|connection|pairing|oauth|token|agent|door)\./;
  return site.lines.splice(0).flatMap(({ event }) => (rooms.test(event) ? [event] : []));
}

async function deviceCode(site: Site): Promise<string> {
  const form = { client_id: DESKTOP, desktop_name: 'studio' };
  const response = await post(site, '/oauth/device_authorization', { form });
  return ((await response.json()) as { user_code: string }).user_code;
}

t.test('logins, and tries of them', async (t) => {
  const site = await openSite(t);
  const owner = await newOwner(site);
  t.same(news(site), ['owner.link-made', 'owner.made']);
  await new Browser(site, '198.51.100.7').open('/owner/setup?token=guessed');
  t.match(site.lines.at(-1), { level: 'warn', event: 'owner.setup-refused', fields: { address: '198.51.100.7' } });
  const stranger = new Browser(site, '198.51.100.7');
  for (let count = 0; count < 6; count++) {
    await stranger.send(await stranger.open('/owner/login'), 'login', { password: 'wrong' });
  }
  const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: 'https://evil.example' };
  await owner.open('/owner', { method: 'POST', headers, body: 'remove=x' });
  await owner.send(await owner.open('/owner'), 'here');
  await owner.send(await owner.open('/owner/login'), 'login', { password: PASSWORD });
  await owner.send(await owner.open('/owner'), 'everywhere');
  await site.authorization.owner.setPassword('another four green words');
  t.same(news(site), [
    'owner.setup-refused',
    ...Array(5).fill('owner.login-refused'),
    'owner.login-limited',
    'owner.form-refused',
    'owner.logged-out',
    'owner.logged-in',
    'owner.logged-out',
    'owner.password-changed',
  ]);
});

t.test('grants and refusals of them, pairings and tries of them, removals', async (t) => {
  const site = await openSite(t);
  const owner = await newOwner(site);
  news(site);
  const client = await register(site);
  await allow(owner, client, { name: 'notebook', scope: ['osfoundry:read'] });
  t.match(site.lines.at(-1), {
    event: 'connection.added',
    fields: {
      kind: 'agent',
      name: 'notebook',
      projects: ['home'],
      scopes: ['osfoundry:read'],
      client_id: client.client_id,
    },
  });
  await owner.send(await owner.open(authorizePath(client)), 'deny');
  t.same(news(site), ['oauth.registered', 'connection.added', 'connection.refused']);

  await owner.send(await owner.open('/device'), 'check', { user_code: 'BCDFGHJK' });
  await owner.send(
    await owner.send(await owner.open('/device'), 'check', { user_code: await deviceCode(site) }),
    'deny',
  );
  await owner.send(
    await owner.send(await owner.open('/device'), 'check', { user_code: await deviceCode(site) }),
    'allow',
  );
  t.same(news(site), ['pairing.code-refused', 'connection.refused', 'connection.added']);
  for (let count = 0; count < 11; count++) {
    await owner.send(await owner.open('/device'), 'check', { user_code: 'BCDFGHJK' });
  }
  t.match(news(site).slice(-1), ['pairing.limited']);

  for (const kind of ['agent', 'desktop'] as const) {
    const [row] = site.authorization.connections.list(kind);
    await owner.send(await owner.open('/owner'), row!.connectionId);
    t.match(site.lines.at(-1), { event: 'connection.removed', fields: { kind, reason: 'removed by the owner' } });
  }
  await site.relay.access.createToken({ kind: 'agent', name: 'cli', projects: ['home'] });
  const { token } = (await site.relay.access.rotateToken('cli'))!;
  await site.relay.access.revokeToken('cli');
  await call(site, '/mcp', { headers: { host: 'evil.example' } });
  t.notMatch(JSON.stringify(site.lines), token);
  t.same(news(site), [
    'connection.removed',
    'connection.removed',
    'token.created',
    'token.rotated',
    'token.revoked',
    'door.refused',
  ]);
});

t.test('no line has a secret', async (t) => {
  const site = await openSite(t);
  const owner = await newOwner(site);
  const { client, tokens } = await connect(site, owner);
  const { token } = await site.relay.access.createToken({ kind: 'agent', name: 'cli', projects: ['home'] });
  const link = new URL(site.authorization.setupLink()).searchParams.get('token')!;
  const secrets = [
    tokens.access_token,
    tokens.refresh_token,
    token,
    link,
    PASSWORD,
    client.verifier,
    ...owner.cookies.values(),
  ];
  const log = JSON.stringify(site.lines);
  t.ok(secrets.length >= 8 && log.length > 500);
  for (const secret of secrets) t.notOk(log.includes(secret));
});

t.test('SECURITY.md names tests that are there, and every event that is written down', async (t) => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const text = readFileSync(`${root}SECURITY.md`, 'utf8');
  const files = new Set([...text.matchAll(/`(tests\/[^`]+)`/g)].map(([, file]) => file!));
  t.ok(files.size > 20);
  for (const file of files) t.ok(existsSync(root + file), file);
  const named = [...text.matchAll(/`([a-z]+\.[a-z-]+)`/g)].map(([, event]) => event!);
  const sources = globSync('server/**/*.ts', { cwd: root }).map((file) => readFileSync(root + file, 'utf8'));
  const rooms = /'((?:owner|connection|pairing|oauth|token|agent|door)\.[a-z-]+)'/g;
  const written = new Set(sources.flatMap((source) => [...source.matchAll(rooms)].map(([, event]) => event!)));
  // Faults are no news of who came.
  for (const fault of ['oauth.fault', 'owner.page-failed', 'connection.removal-failed', 'oauth.sweep-failed'])
    written.delete(fault);
  t.same(named.sort(), [...written].sort());
});
