import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { renewedCredentials } from '../../desktop-agent/login/credentials.ts';
import { untilConfirmed } from '../../desktop-agent/login/login-command.ts';
import { type LoginStore, loginFile, type StoredLogin } from '../../desktop-agent/login/login-file.ts';
import { createOAuthCalls, type PollAnswer, type Tokens } from '../../desktop-agent/login/oauth-calls.ts';
import { renewingDialers } from '../../desktop-agent/login/renewing-dialers.ts';
import type { Dialer } from '../../desktop-agent/ports.ts';
import { RelayError } from '../../protocol/errors.ts';

const RELAY = 'https://relay.example';
const HOUR_MS = 60 * 60_000;
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

function login(name: string, expiresAt: number): StoredLogin {
  return { relay: RELAY, accessToken: `access-${name}`, refreshToken: `refresh-${name}`, expiresAt };
}

interface World {
  now: number;
  stored: StoredLogin | null;
  /** Refresh tokens that were sent. */
  readonly sent: string[];
  readonly answers: PromiseWithResolvers<Tokens>[];
  failWrites: boolean;
}

function openWorld() {
  const world: World = { now: 0, stored: login('1', HOUR_MS), sent: [], answers: [], failWrites: false };
  const store: LoginStore = {
    read: async () => world.stored,
    write: async (written) => {
      if (world.failWrites) throw new Error('the disk is full');
      world.stored = written;
    },
  };
  const refresh = (token: string) => {
    world.sent.push(token);
    const answer = Promise.withResolvers<Tokens>();
    world.answers.push(answer);
    asked.resolve();
    asked = Promise.withResolvers<void>();
    return answer.promise;
  };
  let asked = Promise.withResolvers<void>();
  const credentials = renewedCredentials({
    login: world.stored!,
    store,
    calls: { refresh },
    clock: { now: () => world.now },
    log: SILENT,
  });
  /** Resolves when the relay is asked for new tokens. */
  const nextAsked = () => asked.promise;
  return { world, store, credentials, nextAsked };
}

const ENDED = () => new RelayError('unauthorized', 'The login has ended.');

t.test('calls that start at once with an expired token share one refresh (C73)', async (t) => {
  const { world, credentials, nextAsked } = openWorld();
  world.now = HOUR_MS;
  const asked = nextAsked();
  const used: string[] = [];
  const dial = (name: string) => async () => {
    used.push(`${name} ${credentials.token()}`);
    return {} as never;
  };
  const dialer: Dialer = {
    sync: dial('sync'),
    control: dial('control'),
    complete: dial('complete'),
    probe: dial('probe'),
  };
  const dialers = renewingDialers({ 'long-poll': dialer, websocket: dialer, plain: dialer }, credentials);
  const at = { signal: new AbortController().signal };
  const calls = [
    dialers['long-poll'].sync({} as never, at),
    dialers['long-poll'].complete({} as never, at),
    dialers.websocket.control({} as never, at),
  ];
  await asked;
  world.answers[0]!.resolve(login('2', 2 * HOUR_MS));
  await Promise.all(calls);
  t.strictSame(world.sent, ['refresh-1']);
  t.strictSame(used.sort(), ['complete access-2', 'control access-2', 'sync access-2']);
  t.equal(world.stored?.refreshToken, 'refresh-2');
});

t.test('calls that are refused at once share one refresh, and each is sent again once (C73)', async (t) => {
  const { world, credentials, nextAsked } = openWorld();
  const asked = nextAsked();
  let tries = 0;
  const call = async () => {
    tries++;
    if (credentials.token() === 'access-1') throw ENDED();
    return {} as never;
  };
  const dialer: Dialer = { sync: call, control: call, complete: call, probe: call };
  const dialers = renewingDialers({ 'long-poll': dialer, websocket: dialer, plain: dialer }, credentials);
  const at = { signal: new AbortController().signal };
  const calls = [dialers.plain.sync({} as never, at), dialers.plain.control({} as never, at)];
  await asked;
  world.answers[0]!.resolve(login('2', 2 * HOUR_MS));
  await Promise.all(calls);
  await credentials.refused('access-1');
  t.equal(tries, 4);
  t.strictSame(world.sent, ['refresh-1'], 'and one that comes late finds the new token there');
});

t.test('a failed refresh never takes the place of a newer login (C73)', async (t) => {
  const { world, credentials, nextAsked } = openWorld();
  const asked = nextAsked();
  const renewing = credentials.refused('access-1');
  await asked;
  world.stored = login('new', 3 * HOUR_MS);
  world.answers[0]!.reject(ENDED());
  await renewing;
  t.equal(credentials.token(), 'access-new');
  t.match(world.stored, { refreshToken: 'refresh-new' });
});

t.test('nor does a refresh that succeeds late (C73)', async (t) => {
  const { world, credentials, nextAsked } = openWorld();
  const asked = nextAsked();
  const renewing = credentials.refused('access-1');
  await asked;
  world.stored = login('new', 3 * HOUR_MS);
  world.answers[0]!.resolve(login('2', 2 * HOUR_MS));
  await renewing;
  t.equal(credentials.token(), 'access-new');
  t.match(world.stored, { refreshToken: 'refresh-new' });
});

t.test('a login that ended is told as such, and stays in its file', async (t) => {
  const { world, credentials, nextAsked } = openWorld();
  const asked = nextAsked();
  const renewing = credentials.refused('access-1');
  await asked;
  world.answers[0]!.reject(ENDED());
  await t.rejects(renewing, { code: 'unauthorized' });
  t.match(world.stored, { refreshToken: 'refresh-1' });
});

t.test('a refresh that nobody answers ends nothing: the call goes on, or fails for now', async (t) => {
  const { world, credentials, nextAsked } = openWorld();
  world.now = HOUR_MS - 1_000;
  const asked = nextAsked();
  const ready = credentials.ready();
  await asked;
  world.answers[0]!.reject(new RelayError('unreachable', 'no network'));
  await ready;
  t.equal(credentials.token(), 'access-1');
  const again = nextAsked();
  const refused = credentials.refused('access-1');
  await again;
  world.answers[1]!.reject(new RelayError('unreachable', 'no network'));
  await t.rejects(refused, { code: 'unreachable' }, 'which is tried again, and is not the end of the desktop');
});

t.test('what another process has renewed meanwhile is taken over, without a refresh', async (t) => {
  const { world, credentials } = openWorld();
  world.now = HOUR_MS;
  world.stored = login('other', 2 * HOUR_MS);
  await credentials.ready();
  t.equal(credentials.token(), 'access-other');
  t.strictSame(world.sent, []);
});

t.test('a disk that refuses the new tokens does not bring back the old ones', async (t) => {
  const { world, credentials, nextAsked } = openWorld();
  world.failWrites = true;
  for (const name of ['2', '3']) {
    const asked = nextAsked();
    const renewing = credentials.refused(credentials.token());
    await asked;
    world.answers.at(-1)!.resolve(login(name, 2 * HOUR_MS));
    await renewing;
  }
  t.strictSame(world.sent, ['refresh-1', 'refresh-2']);
  t.equal(credentials.token(), 'access-3');
});

t.test('the login is in a file that its owner alone can read; a damaged one is none', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'gr-login-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const store = loginFile(join(folder, 'desktop'));
  t.equal(await store.read(), null);
  await store.write(login('1', 5));
  await store.write(login('2', 6));
  t.strictSame(await store.read(), login('2', 6));
  const path = join(folder, 'desktop', 'login.json');
  if (process.platform !== 'win32') t.equal((await stat(path)).mode & 0o777, 0o600);
  for (const text of ['', '{', '{"relay":"x"}', 'null']) {
    await writeFile(path, text);
    t.equal(await store.read(), null, text);
  }
  t.equal(await readFile(path, 'utf8'), 'null', 'and is left as it is');
});

t.test(
  'a code is asked about at its pace, more slowly when told so, and errors on the way are no answer',
  async (t) => {
    const clock = new VirtualClock();
    const start = clock.now();
    const answers: (PollAnswer | Error)[] = ['pending', 'slow-down', new Error('no network'), 'pending', login('1', 9)];
    const askedAt: number[] = [];
    const poll = async () => {
      askedAt.push(clock.now() - start);
      const answer = answers.shift()!;
      if (answer instanceof Error) throw answer;
      return answer;
    };
    const code = {
      deviceCode: 'd',
      userCode: 'u',
      verificationUri: 'v',
      expiresAt: start + 600_000,
      intervalMs: 5_000,
    };
    t.match(await clock.settle(untilConfirmed({ poll }, code, clock)), { accessToken: 'access-1' });
    t.strictSame(askedAt, [5_000, 10_000, 20_000, 30_000, 40_000]);
    for (const answer of ['refused', 'expired'] as const) {
      const asking = untilConfirmed({ poll: async () => answer }, { ...code, expiresAt: clock.now() + 600_000 }, clock);
      await t.rejects(clock.settle(asking), answer === 'refused' ? /refused to pair/ : /not confirmed in time/);
    }
    const never = untilConfirmed({ poll: async () => 'pending' }, { ...code, expiresAt: clock.now() + 600_000 }, clock);
    await t.rejects(clock.settle(never), /not confirmed in time/);
  },
);

t.test('answers that are no login server are told apart from a login that ended', async (t) => {
  const answering = (status: number, body: string) =>
    createOAuthCalls({ relay: RELAY, clock: new VirtualClock(), fetch: async () => new Response(body, { status }) });
  const codes: [number, string, string][] = [
    [400, '{"error":"invalid_grant"}', 'unauthorized'],
    [401, '{"error":"invalid_client"}', 'unauthorized'],
    [400, '{"error":"server_error"}', 'unreachable'],
    [503, '{"error":{"code":"shutting-down"}}', 'unreachable'],
    [429, '{"error":"slow_down"}', 'too-many-held'],
    [404, '{}', 'not-a-relay'],
    [401, '<html>a captive portal</html>', 'not-a-relay'],
    [200, '{"access_token":"a"}', 'not-a-relay'],
  ];
  for (const [status, body, code] of codes) {
    await t.rejects(answering(status, body).refresh('r'), { code }, `${status} ${body}`);
  }
});
