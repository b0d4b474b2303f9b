/** What somebody meets who tries passwords. */
import t from 'tap';
import { clientAddress, limitKey } from '../../server/auth/client-address.ts';
import { Owner } from '../../server/auth/owner.ts';
import { passwordProblem, SCRYPT_COST } from '../../server/auth/password.ts';
import { Browser, loggedIn, newOwner, openSite, PASSWORD, PUBLIC } from './support.ts';

t.test('wrong passwords are counted: after a few there is a pause for that address, and others get in', async (t) => {
  const site = await openSite(t);
  await newOwner(site);
  const attacker = new Browser(site, '198.51.100.66');
  const tryIt = async (password: string) => {
    const page = await attacker.open('/owner/login');
    return attacker.send(page, 'login', { password });
  };
  for (let count = 0; count < 5; count++) t.match((await tryIt(`wrong ${count}`)).text, /This is not the password/);
  const limited = await tryIt(PASSWORD);
  t.equal(limited.response.status, 429, 'even with the right one');
  t.match(limited.text, /Too many tries/);
  t.match((await (await loggedIn(site, '203.0.113.99')).open('/owner')).text, /What is connected/);
  site.clock.skewMs += 31_000;
  t.match((await tryIt(PASSWORD)).text, /What is connected/);
  t.ok(site.lines.some(({ event }) => event === 'owner.login-limited'));
});

t.test('behind a proxy the address that it wrote counts, and none that a client sends', (t) => {
  const from = (socket: string, forwarded: string, isProxied = true) =>
    clientAddress(new Request(PUBLIC, { headers: { 'x-forwarded-for': forwarded } }), socket, isProxied);
  t.equal(from('127.0.0.1', '198.51.100.1, 1.1.1.1'), '1.1.1.1');
  t.equal(from('::ffff:10.0.0.2', '1.1.1.1'), '1.1.1.1');
  t.equal(from('127.0.0.1', 'not an address'), '127.0.0.1');
  t.equal(from('127.0.0.1', ''), '127.0.0.1');
  t.equal(from('8.8.8.8', '1.1.1.1'), '8.8.8.8', 'who calls directly speaks for nobody else');
  t.equal(from('127.0.0.1', '1.1.1.1', false), '127.0.0.1', 'nor anybody where there is no proxy');
  t.end();
});

t.test('who has a network of IPv6 addresses has one limit for all of them', (t) => {
  const same = ['2a00:1450:4001:80b::1', '2a00:1450:4001:080b:1:2:3:4', '2A00:1450:4001:80b::'];
  t.strictSame(new Set(same.map(limitKey)), new Set(['2a00:1450:4001:80b::/64']));
  t.equal(limitKey('2a00::1'), '2a00:0:0:0::/64');
  t.equal(limitKey('::1'), '0:0:0:0::/64');
  t.equal(limitKey('1.1.1.1'), '1.1.1.1');
  t.equal(limitKey(''), '');
  t.end();
});

t.test('many addresses together are counted as well', async (t) => {
  const site = await openSite(t);
  await newOwner(site);
  let refused = 0;
  for (let count = 0; count < 60; count++) {
    const browser = new Browser(site, `198.51.100.${count}`);
    const { response } = await browser.send(await browser.open('/owner/login'), 'login', { password: 'wrong' });
    if (response.status === 429) refused++;
  }
  t.ok(refused >= 15, `${refused} of 60 were not even compared`);
});

t.test('an attack on the login does not keep the owner out: a link of the command line gets them in', async (t) => {
  const site = await openSite(t);
  await newOwner(site);
  const tryOften = async (address: string) => {
    const browser = new Browser(site, address);
    return (await browser.send(await browser.open('/owner/login'), 'login', { password: 'wrong' })).response.status;
  };
  for (let count = 0; count < 60; count++) await tryOften(`198.51.100.${count}`);
  t.equal(await tryOften('203.0.113.9'), 429);
  const owner = new Browser(site, '203.0.113.9');
  const page = await owner.open(site.authorization.setupLink());
  const done = await owner.send(page, 'setup', { password: PASSWORD, again: PASSWORD });
  t.match(done.text, /What is connected/);
});

t.test('an owner that nobody made quicker for a test is kept with the slow hash', async (t) => {
  const { store, ports } = await openSite(t);
  await new Owner({ store, ports }).setPassword(PASSWORD);
  const { password } = store.rows('owner').get('owner')!;
  t.match(password, { kdf: 'scrypt', cost: 131_072, blockSize: 8, parallelization: 1 });
  t.notMatch(JSON.stringify(password), PASSWORD);
});

t.test('passwords that are tried first are refused, and the hash is as slow as is published', (t) => {
  for (const password of ['', 'short', 'aaaaaaaaaaaaaaaa', 'ababababababab', 'x'.repeat(300)]) {
    t.type(passwordProblem(password), 'string', password.slice(0, 20));
  }
  for (const password of [PASSWORD, 'pässwörter für alle', '长长长的密码一二三四五六'])
    t.equal(passwordProblem(password), null);
  t.equal(SCRYPT_COST, 131_072);
  t.end();
});
