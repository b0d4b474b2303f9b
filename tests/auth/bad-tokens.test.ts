/** What somebody meets who comes with tokens that open nothing, and what those do not notice who share an address with them. */
import t from 'tap';
import { PLAIN_PATH } from '../../protocol/plain-contract.ts';
import { RateLimits } from '../../server/auth/rate-limits.ts';
import { agentToken, desktopToken, GUESSES, JSON_TYPE, post, probe, statuses } from './askers.ts';
import { call, listSessions, openSite, PUBLIC, rpc } from './support.ts';

/** Ten times what one address has. */
const ALL_GUESSES = 600;

t.test('tokens that open nothing are counted by address; good ones from there are never refused for it', async (t) => {
  const site = await openSite(t);
  const [good, expired] = [await agentToken(site), await agentToken(site, 'expired')];
  const desktop = await desktopToken(site);
  t.equal((await listSessions(site, expired)).status, 200);
  await site.relay.access.revokeToken('expired');
  let guess = 0;
  const places = [
    (token: string) => listSessions(site, token),
    (token: string) => probe(site, token),
    (token: string) => post(site, `${PLAIN_PATH}/sync`, { token, body: {} }),
  ];
  const guessOnce = () => places[guess % places.length]!(`gra_${++guess}`);
  t.same(await statuses(GUESSES, guessOnce), Array(GUESSES).fill(401), 'clients with an old token are told so');
  for (const place of places) {
    const refused = await place('gra_one_more');
    t.equal(refused.status, 429);
    t.equal(refused.headers.get('retry-after'), '1');
    t.match(
      await refused.text(),
      /too-many-requests.*|tokens that open nothing. Try again in a second, with a good one/,
    );
  }
  t.equal((await listSessions(site, good)).status, 200, 'a good token from the same address');
  t.equal((await probe(site, desktop)).status, 200);
  t.equal((await listSessions(site, expired)).status, 401, 'a token that was good has to hear that it is not any more');
  t.equal((await rpc(site, { method: 'tools/list' })).status, 200, 'nor is who shows none');
  t.equal((await probe(site, 'grd_x', '198.51.100.9')).status, 401, 'another address');
  site.clock.skewMs += 1_000;
  t.same(await statuses(2, guessOnce), [401, 429], 'one a second');
  t.same(await statuses(GUESSES + 1, () => listSessions(site, expired)), [...Array(GUESSES).fill(401), 429]);
});

t.test('many addresses that guess have one limit together, and do no harm to who is known', async (t) => {
  const site = await openSite(t);
  const good = await agentToken(site);
  let address = 0;
  const fromAnywhere = () => probe(site, 'grd_x', `2001:db8:${(++address).toString(16)}::1`);
  const seen = await statuses(ALL_GUESSES + 50, fromAnywhere);
  t.same(seen, [...Array(ALL_GUESSES).fill(401), ...Array(50).fill(429)]);
  t.equal((await listSessions(site, good)).status, 200);
});

t.test('behind a proxy the address that it wrote is counted', async (t) => {
  const site = await openSite(t, { url: PUBLIC });
  const from = (client: string) =>
    call(site, '/mcp', {
      address: '127.0.0.1',
      method: 'POST',
      headers: { ...JSON_TYPE, authorization: 'Bearer gra_x', 'x-forwarded-for': client },
      body: '{}',
    });
  t.equal((await statuses(GUESSES + 1, () => from('198.51.100.1'))).at(-1), 429);
  t.equal((await from('198.51.100.1, 198.51.100.2')).status, 401);
});

t.test('the memory of it has a bound: who was not looked at for the longest time is forgotten first', (t) => {
  const limits = new RateLimits({ monotonic: () => 0 }, { once: { burst: 1, refillMs: 60_000, together: 1e9 } });
  const isServed = (caller: string) => limits.take('once', caller) === null;
  t.ok(isServed('quiet'));
  t.ok(isServed('busy'));
  for (let count = 0; count < 12_000; count++) {
    isServed(`2001:db8:${count.toString(16)}::1`);
    if (count % 1_000 === 0) t.notOk(isServed('busy'), 'who goes on asking is remembered');
  }
  t.ok(isServed('quiet'), 'and this one is not');
  t.end();
});
