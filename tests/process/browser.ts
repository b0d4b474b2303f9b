/** The browser of the authorization tests, before a relay that is a process: real HTTP, the same pages. */
import type { Test } from 'tap';
import { Browser, PASSWORD, type Site } from '../auth/support.ts';
import type { Relay } from './relay-world.ts';
import { launch, until } from './support.ts';

/** The relay of a process (or what is in front of it), as the browser of the other tests needs it. */
export function siteAt(t: Test, { url }: Pick<Relay, 'url'>): Site {
  const send = (request: Request) => fetch(request, { redirect: 'manual' });
  return { t, url, relay: { fetch: send } } as unknown as Site;
}

/** Opens the link that the relay printed, and chooses the password. */
export async function becomeOwner(t: Test, relay: Relay): Promise<Browser> {
  const link = await until(
    'the link for the first owner',
    () => /https?:\S+\/owner\/setup\?token=\w+/.exec(relay.process.stderr)?.[0],
  );
  const browser = new Browser(siteAt(t, relay));
  const page = await browser.open(link);
  const done = await browser.send(page, 'setup', { password: PASSWORD, again: PASSWORD });
  t.match(done.text, /What is connected/);
  return browser;
}

export interface Pairing {
  readonly data: string;
  readonly url: string;
  readonly browser: Browser;
  readonly env?: Readonly<Record<string, string>>;
}

/** The desktop of this folder asks for a code, and its owner confirms it. */
export async function pairDesktop(t: Test, { data, url, browser, env = {} }: Pairing): Promise<void> {
  const login = launch(t, ['desktop', 'login', '--relay', url, '--data', data, '--name', 'studio'], { env });
  const code = await until('the code', () => /^ {2}([A-Z]{4}-[A-Z]{4})$/m.exec(login.stdout)?.[1]);
  t.match(login.stdout, `  ${url}/device\n`);
  const confirm = await browser.send(await browser.open('/device'), 'check', { user_code: code });
  await browser.send(confirm, 'allow');
  t.match(await login.ended, { code: 0 });
  t.match(login.stderr, /Paired/);
}
