/** The owner's way through all pages, in a real browser: once as most people use it, once with the keyboard and without scripts. */
import t, { type Test } from 'tap';
import {
  authorizePath,
  type Client,
  exchange,
  PASSWORD,
  post,
  register,
  type Site,
  type Tokens,
} from '../auth/support.ts';
import { freePort, missing } from '../faults/proxy-programs.ts';
import { tempFolder } from '../process/support.ts';
import { FRONTS, HOST, makeCertificate, missingFront } from '../process/tls-fronts.ts';
import { listen, listenAsClient, openBrowser, Visitor, type VisitorOptions } from './support.ts';

const skip = missing('chromium', '--version');
t.setTimeout(10 * 60_000);

interface Way {
  readonly t: Test;
  readonly site: Site;
  readonly visitor: Visitor;
  /** Where the client listens. */
  readonly answer: string;
}

async function becomeOwner({ visitor, site, t }: Way): Promise<void> {
  await visitor.open('/owner/login');
  await visitor.look('This relay has no owner yet', 'no-owner');
  const link = site.authorization.setupLink();
  await visitor.open(link);
  await visitor.look('Choose a password', 'setup');
  await visitor.fill('Password, at least', PASSWORD);
  await visitor.fill('The same again', 'four other green words');
  await visitor.press('Become the owner');
  await visitor.look('Choose a password', 'setup-problem');
  t.match(await visitor.alert(), 'The two passwords are not the same.');
  await visitor.fill('Password, at least', PASSWORD);
  await visitor.fill('The same again', PASSWORD);
  await visitor.press('Become the owner');
  await visitor.look('What is connected', 'overview-empty');
  await visitor.press('Log out');
  await visitor.look('Log in', 'login');
  await visitor.open(link);
  await visitor.look('This link is not valid', 'setup-used');
}

/** The client asks, the owner logs in on the way, and is asked. */
async function ask({ visitor, site, answer }: Way, name: string): Promise<Client> {
  const client = await register(site, { client_name: name, redirect_uris: [answer] });
  await visitor.open(authorizePath(client, { redirect_uri: answer }));
  return client;
}

async function connectAgents(way: Way): Promise<void> {
  const { visitor, site, answer, t } = way;
  await site.relay.access.createToken({ kind: 'agent', name: 'cli', projects: ['home', 'work'] });
  const client = await ask(way, 'Notebook');
  await visitor.look('Log in to connect an agent', 'login-to-connect');
  await visitor.fill('Password of this', 'not the password');
  await visitor.press('Log in');
  await visitor.look('Log in to connect an agent', 'login-problem');
  t.match(await visitor.alert(), 'This is not the password.');
  await visitor.fill('Password of this', PASSWORD);
  await visitor.press('Log in');
  await visitor.look('Connect Notebook?', 'consent');
  await visitor.tick('Start runs on your desktops');
  await visitor.press('Allow');
  await visitor.look('Connect Notebook?', 'consent-problem');
  t.match(await visitor.alert(), 'Choose at least one project');
  await visitor.tick('home');
  await visitor.fill('Another one, which is made', 'lab');
  await visitor.fill('Name it', 'My notebook');
  await visitor.press('Allow');
  t.match(visitor.page.url(), answer, 'the browser is sent to the client');
  const code = new URL(visitor.page.url()).searchParams.get('code')!;
  const tokens = (await (await exchange(site, client, { code, redirect_uri: answer })).json()) as Tokens;
  const agent = site.authorization.agentOf(tokens.access_token);
  t.equal(agent!.name, 'My notebook');
  t.same(agent!.scopes, ['osfoundry:read'], 'what was ticked off stays off and is not granted');
  t.same(agent!.projects, ['home', 'lab']);

  await ask(way, `Averyveryverylongnamewithoutanyspace${'x'.repeat(28)}`);
  await visitor.look(`Connect Averyveryverylongnamewithoutanyspace${'x'.repeat(28)}?`, 'consent-long');
  await visitor.press('Refuse');
  t.match(visitor.page.url(), /error=access_denied/);
}

async function deviceCode(site: Site): Promise<{ user_code: string; device_code: string }> {
  const headers = { 'user-agent': 'graph-relay/0.1.0 linux' };
  const form = { client_id: 'graph-relay-desktop', desktop_name: 'studio' };
  const response = await post(site, '/oauth/device_authorization', { form, headers });
  return (await response.json()) as { user_code: string; device_code: string };
}

async function pairDesktops({ visitor, site, t }: Way): Promise<void> {
  await visitor.open('/device');
  await visitor.look('Pair a desktop', 'pair');
  await visitor.fill('Code', 'BCDF-GHJK');
  await visitor.press('Continue');
  await visitor.look('Pair a desktop', 'pair-unknown');
  t.match(await visitor.alert(), 'There is no desktop that waits with this code.');
  for (const round of ['first', 'again']) {
    const waiting = await deviceCode(site);
    await visitor.open('/device');
    await visitor.fill('Code', waiting.user_code.toLowerCase());
    await visitor.press('Continue');
    await visitor.look('Pair this desktop?', `pair-confirm-${round}`);
    await visitor.press('Pair');
    if (round === 'again') {
      await visitor.look('Pair this desktop?', 'pair-taken');
      await visitor.tick('It is that desktop again');
      await visitor.press('Pair');
    }
    await visitor.look('studio is paired', `paired-${round}`);
    const form = {
      client_id: 'graph-relay-desktop',
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: waiting.device_code,
    };
    const { access_token } = (await (await post(site, '/oauth/token', { form })).json()) as Tokens;
    t.match(site.authorization.desktopOf(access_token), { name: 'studio' });
  }
  const { user_code } = await deviceCode(site);
  await visitor.open(`/device?user_code=${user_code}`);
  await visitor.press('Continue');
  await visitor.press('Refuse');
  await visitor.look('Refused', 'pair-refused');
}

async function removeAll({ visitor, site, t }: Way): Promise<void> {
  const other = await site.authorization.owner.startSession('Mozilla/5.0 (X11; Linux x86_64) Another/1.0');
  await visitor.open('/owner');
  await visitor.look('What is connected', 'overview');
  await visitor.press('Remove My notebook');
  t.same(site.authorization.connections.list('agent'), []);
  await visitor.press('Remove studio');
  t.same(site.authorization.connections.list('desktop'), []);
  const list = await visitor.page.locator('main').textContent();
  t.match(list, 'No agent is connected.');
  t.match(list, 'No desktop is paired.');
  await visitor.press('Log out everywhere');
  await visitor.look('Log in', 'login-again');
  t.equal(site.authorization.owner.sessionOf(other), null, 'the other browser is logged out too');
  await visitor.open('/owner');
  t.equal(await visitor.heading(), 'Log in');
}

async function goWrong({ visitor }: Way): Promise<void> {
  await visitor.open('/owner/nothing');
  await visitor.look('There is no such page', 'no-page');
  await visitor.open('/oauth/authorize?client_id=nobody');
  await visitor.look('The client asked for something that is not possible', 'authorize-problem');
  await visitor.open(`/oauth/authorize?client_id=${encodeURIComponent('https://client.example/metadata.json')}`);
  await visitor.look('The description of this client could not be fetched', 'document-problem');
  await visitor.open('/oauth/consent/made-up');
  await visitor.look('This request is not open any more', 'consent-gone');
}

const WAYS: Readonly<Record<string, VisitorOptions>> = {
  'by pointer, in the light': { pictures: 'light', colorScheme: 'light' },
  'by keyboard, in the dark, without scripts': {
    pictures: 'dark',
    colorScheme: 'dark',
    byKeyboard: true,
    javaScriptEnabled: false,
  },
};

t.test('the owner in a real browser', { skip }, async (t) => {
  const browser = await openBrowser(t);
  for (const [name, options] of Object.entries(WAYS)) {
    await t.test(`becomes the owner, allows, narrows, pairs, removes and logs out: ${name}`, async (t) => {
      const site = await listen(t);
      const visitor = await Visitor.at(t, browser, { ...options, baseURL: site.url });
      const way: Way = { t, site, visitor, answer: await listenAsClient(t) };
      for (const part of [becomeOwner, connectAgents, pairDesktops, goWrong, removeAll]) await part(way);
      t.same(visitor.complaints, [], 'the browser has nothing to complain about');
    });
  }
});

t.test(
  'with TLS in front the same browser keeps its cookies and comes back to its client',
  {
    skip: skip || missingFront('nginx'),
  },
  async (t) => {
    const port = await freePort();
    const site = await listen(t, `https://${HOST}:${port}`);
    const folder = await tempFolder(t);
    makeCertificate(folder);
    await FRONTS.nginx(t, { folder, port, target: site.target });
    const options = { baseURL: site.url, ignoreHTTPSErrors: true };
    const visitor = await Visitor.at(t, await openBrowser(t), options);
    const way: Way = { t, site, visitor, answer: await listenAsClient(t) };
    await becomeOwner(way);
    await connectAgents(way);
    const cookies = (await visitor.page.context().cookies()).filter(({ name }) => name.includes('graph_relay'));
    t.ok(cookies.length > 2);
    for (const { name, secure, httpOnly } of cookies) t.ok(secure && httpOnly, name);
    const own = cookies.filter(({ name }) => /owner|form/.test(name)).map(({ name }) => name);
    t.same(own.sort(), ['__Host-graph_relay_form', '__Host-graph_relay_owner']);
    t.same(visitor.complaints, []);
  },
);
