/** A relay process that is killed in the middle of becoming its owner, of a consent and of a pairing, and started again. */
import t, { type Test } from 'tap';
import {
  authorizePath,
  Browser,
  exchange,
  listSessions,
  PASSWORD,
  refresh,
  register,
  type Tokens,
} from '../auth/support.ts';
import { becomeOwner, siteAt } from './browser.ts';
import { type Relay, startRelay } from './relay-world.ts';
import { expectProcesses, LIGHT, launch, run, tempFolder, until } from './support.ts';

expectProcesses(t);

/** kill -9, and a start on the same folder at the same address. */
async function killed(t: Test, data: string, { process, url }: Relay): Promise<Relay> {
  await process.end('SIGKILL');
  const next = launch(t, ['server', '--port', new URL(url).port, '--data', data], { env: LIGHT });
  await next.ready;
  return { process: next, url };
}

function printedLink(relay: Relay): Promise<string> {
  return until('the link', () => /https?:\S+\/owner\/setup\?token=\w+/.exec(relay.process.stderr)?.[0]);
}

t.test(
  'the link for the first owner is void after a restart, its page says what to do, and a new one is printed',
  async (t) => {
    const data = await tempFolder(t);
    let relay = await startRelay(t, data, { env: LIGHT });
    const browser = new Browser(siteAt(t, relay));
    const printed = await printedLink(relay);
    const form = await browser.open(printed);
    t.match(form.text, /Choose a password/);
    relay = await killed(t, data, relay);
    for (const page of [
      await browser.open(printed),
      await browser.send(form, 'setup', { password: PASSWORD, again: PASSWORD }),
    ]) {
      t.equal(page.response.status, 403);
      t.match(page.text, /the relay was started anew since.*graph-relay owner link/s);
    }
    const { stdout } = await run(t, ['owner', 'link', '--data', data]);
    t.equal((await browser.open(await printedLink(relay))).response.status, 403, 'the command made a newer one');
    const done = await browser.send(await browser.open(stdout.trim()), 'setup', {
      password: PASSWORD,
      again: PASSWORD,
    });
    t.match(done.text, /What is connected/);
  },
);

t.test(
  'a consent goes on after kill -9 before the login, before the decision and before the code is used',
  async (t) => {
    const data = await tempFolder(t);
    let relay = await startRelay(t, data, { env: LIGHT });
    const owner = await becomeOwner(t, relay);
    const { site } = owner;
    const client = await register(site);
    const browser = new Browser(site);
    const login = await browser.open(authorizePath(client));
    relay = await killed(t, data, relay);
    const asked = await browser.send(login, 'login', { password: PASSWORD });
    t.match(asked.text, /Connect Test client\?/);
    relay = await killed(t, data, relay);
    const landed = await browser.send(asked, 'allow', { new_project: 'home' });
    relay = await killed(t, data, relay);
    const tokens = (await (
      await exchange(site, client, { code: landed.url.searchParams.get('code')! })
    ).json()) as Tokens;
    const { refresh_token } = tokens;
    t.equal((await refresh(site, client, { refresh_token })).status, 200);
    await killed(t, data, relay);
    t.equal((await listSessions(site, tokens.access_token)).status, 200);
    t.equal((await refresh(site, client, { refresh_token })).status, 200, 'the old refresh token right after it (C72)');
  },
);

t.test('`desktop login` waits through kill -9 of the relay before and after the confirmation', async (t) => {
  const data = await tempFolder(t);
  let relay = await startRelay(t, data, { env: LIGHT });
  const browser = await becomeOwner(t, relay);
  const login = launch(t, ['desktop', 'login', '--relay', relay.url, '--data', data, '--name', 'studio']);
  const user_code = await until('the code', () => /^ {2}([A-Z]{4}-[A-Z]{4})$/m.exec(login.stdout)?.[1]);
  relay = await killed(t, data, relay);
  const confirm = await browser.send(await browser.open('/device'), 'check', { user_code });
  relay = await killed(t, data, relay);
  t.match((await browser.send(confirm, 'allow')).text, /studio is paired/);
  relay = await killed(t, data, relay);
  t.match(await login.ended, { code: 0 });
  t.match(login.stderr, /Paired/);
  const desktop = launch(t, ['desktop', '--relay', relay.url, '--data', data]);
  await desktop.line('relay.connected');
  t.match((await browser.open('/owner')).text, /studio/);
});
