/** The browser of the authorization tests, before a relay that is a process: real HTTP, the same pages. */
import type { Test } from 'tap';
import { Browser, PASSWORD, type Site } from '../auth/support.ts';
import type { Relay } from './relay-world.ts';
import { until } from './support.ts';

/** The relay of a process, as the browser of the other tests needs it. */
export function siteAt(t: Test, { url }: Relay): Site {
  const send = (request: Request) => fetch(request, { redirect: 'manual' });
  return { t, url, relay: { fetch: send } } as unknown as Site;
}

/** Opens the link that the relay printed, and chooses the password. */
export async function becomeOwner(t: Test, relay: Relay): Promise<Browser> {
  const link = await until(
    'the link for the first owner',
    () => /http:\S+\/owner\/setup\?token=\w+/.exec(relay.process.stderr)?.[0],
  );
  const browser = new Browser(siteAt(t, relay));
  const page = await browser.open(link);
  const done = await browser.send(page, 'setup', { password: PASSWORD, again: PASSWORD });
  t.match(done.text, /What is connected/);
  return browser;
}
