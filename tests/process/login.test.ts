/** From an empty folder to a paired desktop that runs a Graph for an allowed agent, with real processes and real HTTP. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { Browser, connect, PASSWORD, refresh, type Tokens } from '../auth/support.ts';
import { becomeOwner, pairDesktop, siteAt } from './browser.ts';
import { graphSource, McpCaller, shareOnline, startRelay, writeGraph } from './relay-world.ts';
import { expectProcesses, LIGHT, launch, run, tempFolder } from './support.ts';

expectProcesses(t);

t.test(
  'an owner, an agent and a desktop come together without a token being copied, until the owner removes them',
  async (t) => {
    const data = await tempFolder(t);
    const relay = await startRelay(t, data);
    const { url } = relay;
    const browser = await becomeOwner(t, relay);
    const { tokens } = await connect(browser.site, browser);
    await pairDesktop(t, { data, url, browser });
    const file = join(data, 'desktop', 'login.json');
    if (process.platform !== 'win32') t.equal((await stat(file)).mode & 0o777, 0o600);

    await writeGraph(data, 'add.js', graphSource('add', 'return args.a + args.b;'));
    const desktop = launch(t, ['desktop', '--relay', url, '--data', data]);
    await desktop.ready;
    const session = await shareOnline(data, 'add.js');
    const agent = new McpCaller(url, tokens.access_token);
    await agent.onlySession();
    const { command_id } = await agent.start(session, { a: 1, b: 2 });
    t.match(await agent.end(command_id), { status: 'completed', result: 3 });
    t.equal(
      relay.process.stdout.trimEnd().split('\n').length,
      relay.process.log.length,
      'each line of the log is JSON',
    );

    const stored = JSON.parse(await readFile(file, 'utf8')) as Record<string, string>;
    const secrets = [tokens.access_token, tokens.refresh_token, stored.accessToken!, stored.refreshToken!, PASSWORD];
    for (const secret of secrets) t.notOk((relay.process.stdout + desktop.stdout).includes(secret), 'no log shows it');

    const page = await browser.open('/owner');
    const remove = /value="([0-9a-f-]{36})" aria-label="Remove studio"/.exec(page.text)![1]!;
    await browser.send(page, remove);
    t.match(await desktop.ended, { code: 21 });
    t.match(desktop.stderr, /does not take the login of this desktop any more.*desktop login/);
    const again = await run(t, ['desktop', '--relay', url, '--data', data]);
    t.equal(again.code, 21, 'and it does not come back by itself');
  },
);

t.test('a desktop on a WebSocket that is removed ends too', async (t) => {
  const data = await tempFolder(t);
  const relay = await startRelay(t, data);
  const browser = await becomeOwner(t, relay);
  await pairDesktop(t, { data, url: relay.url, browser });
  const desktop = launch(t, ['desktop', '--relay', relay.url, '--data', data, '--mode', 'websocket']);
  await desktop.line('relay.connected');
  const page = await browser.open('/owner');
  await browser.send(page, /value="([0-9a-f-]{36})" aria-label="Remove studio"/.exec(page.text)![1]!);
  t.match(await desktop.ended, { code: 21 });
  t.match(desktop.stderr, /does not take the login/);
});

t.test('clients, grants, tokens and logins are there after kill -9, also under another address', async (t) => {
  const data = await tempFolder(t);
  let relay = await startRelay(t, data, { env: LIGHT });
  const browser = await becomeOwner(t, relay);
  const { client, tokens } = await connect(browser.site, browser);
  for (let round = 0; round < 2; round++) {
    await relay.process.end('SIGKILL');
    relay = await startRelay(t, data, { env: LIGHT });
    browser.site = siteAt(t, relay);
    t.match(await new McpCaller(relay.url, tokens.access_token).sessions(), { project_id: 'home' });
    t.match((await browser.open('/owner')).text, /Test client/);
  }
  const given = { refresh_token: tokens.refresh_token };
  const first = await refresh(browser.site, client, given);
  t.equal(first.status, 200);
  await relay.process.end('SIGKILL');
  relay = await startRelay(t, data, { env: LIGHT });
  browser.site = siteAt(t, relay);
  t.equal((await refresh(browser.site, client, given)).status, 200, 'the answer was lost: again within a minute (C72)');
  const next = { refresh_token: ((await first.json()) as Tokens).refresh_token };
  t.equal((await refresh(browser.site, client, next)).status, 200, 'and the new one works as well (C109)');
  t.equal((await connect(browser.site, browser)).tokens.token_type, 'Bearer', 'others can connect (C76)');
});

t.test('a login is sent to the relay that it is for, and a desktop without one says what to do', async (t) => {
  const data = await tempFolder(t);
  const relay = await startRelay(t, data);
  const none = await run(t, ['desktop', '--relay', relay.url, '--data', data]);
  t.match(none, { code: 21, stderr: /desktop login/ });
  const browser = await becomeOwner(t, relay);
  await pairDesktop(t, { data, url: relay.url, browser });
  const elsewhere = await run(t, ['desktop', '--relay', 'http://127.0.0.1:9', '--data', data]);
  t.match(elsewhere, { code: 21, stderr: /paired with http:\/\/127\.0\.0\.1:\d+, and its login is sent nowhere else/ });
  const nobody = await run(t, ['desktop', 'login', '--relay', 'http://127.0.0.1:9', '--data', data]);
  t.match(nobody, { code: 1, stderr: /cannot be reached/ });
});

t.test(
  'an owner who forgot the password gets a link from the machine that the relay runs on, which ends old logins',
  async (t) => {
    const data = await tempFolder(t);
    const relay = await startRelay(t, data);
    t.match(await run(t, ['owner', 'link', '--data', await tempFolder(t)]), { code: 1, stderr: /No relay runs/ });
    const browser = await becomeOwner(t, relay);
    const { stdout } = await run(t, ['owner', 'link', '--data', data]);
    const password = 'quite another four words';
    const other = new Browser(browser.site);
    await other.send(await other.open(stdout.trim()), 'setup', { password, again: password });
    t.match((await browser.open('/owner')).text, /Log in/);
    t.match((await other.open('/owner')).text, /What is connected/);
  },
);

t.test('the owner can come from the environment, and a public address has to be one', async (t) => {
  const data = await tempFolder(t);
  const weak = await run(t, ['server', '--port', '0', '--data', data], {
    env: { GRAPH_RELAY_OWNER_PASSWORD: 'short' },
  });
  t.match(weak, { code: 2, stderr: /at least 12 characters/ });
  for (const address of ['http://relay.example', 'https://relay.example/path', 'relay.example', 'ftp://x']) {
    const refused = await run(t, ['server', '--port', '0', '--data', data, '--public-url', address]);
    t.match(refused, { code: 2, stderr: /cannot be the relay's public address/ }, address);
  }
  const unclear = await run(t, ['server', '--port', '0', '--data', data], {
    env: { GRAPH_RELAY_CLIENT_DOCUMENTS: 'no' },
  });
  t.match(unclear, { code: 2, stderr: /GRAPH_RELAY_CLIENT_DOCUMENTS is "no"\. It can be on or off/ });
  const relay = await startRelay(t, data, { env: { GRAPH_RELAY_OWNER_PASSWORD: PASSWORD } });
  t.notMatch(relay.process.stderr, /setup/);
  const browser = new Browser(siteAt(t, relay));
  const page = await browser.send(await browser.open('/owner/login'), 'login', { password: PASSWORD });
  t.match(page.text, /What is connected/);
});
