/** The owner's limits: as options and variables, refused with a clear line, shown by `status`, and kept. */
import t from 'tap';
import type { RelayStatus } from '../../server/local-api.ts';
import {
  desktopCall,
  McpCaller,
  makeToken,
  plainSync,
  sharedSession,
  startDesktop,
  startRelay,
  startWorld,
} from './relay-world.ts';
import { expectProcesses, launch, run, tempFolder } from './support.ts';

expectProcesses(t);

const SESSION = 'gs_0123456789abcdef0123456789abcdef';
const USAGE = 2;

t.test('each limit names its unit, its range, its usual value and its variable', async (t) => {
  const { stdout } = await run(t, ['server', '--help']);
  const text = stdout.replace(/\s+/g, ' ');
  for (const each of [
    /--queue-per-desktop <runs> .* from 1 to 10000 \(default: 100, env: GRAPH_RELAY_QUEUE_PER_DESKTOP\)/,
    /--queue-per-project <runs> .* from 1 to 100000 \(default: 500, env: GRAPH_RELAY_QUEUE_PER_PROJECT\)/,
    /--start-by <time> .* from 1s to 7d \(default: 24h, env: GRAPH_RELAY_START_BY\)/,
    /--lost-after <time> .* from 1m to 30d \(default: 15m, env: GRAPH_RELAY_LOST_AFTER\)/,
    /--keep-runs-for <time> .* from 24h to 3650d \(default: 30d, env: GRAPH_RELAY_KEEP_RUNS_FOR\)/,
    /--keep-runs <runs> .* from 0 to 1000000 \(default: 10000, env: GRAPH_RELAY_KEEP_RUNS\)/,
    /--requests-per-agent <requests> .* 0: no limit, from 0 to 1000000 \(default: 6000, env: GRAPH_RELAY_REQUESTS_PER_AGENT\)/,
    /--requests-per-desktop <requests> .* 0: no limit, from 0 to 1000000 \(default: 12000, env: GRAPH_RELAY_REQUESTS_PER_DESKTOP\)/,
    /--held-per-desktop <requests> .* from 1 to 1024 \(default: 80, env: GRAPH_RELAY_HELD_PER_DESKTOP\)/,
  ]) {
    t.match(text, each);
  }
  const desktop = (await run(t, ['desktop', '--help'])).stdout.replace(/\s+/g, ' ');
  t.match(desktop, /--slots <runs> .* from 1 to 64 \(default: 1, env: GRAPH_RELAY_SLOTS\)/);
  t.match(desktop, /--hold <time> .* from 1s to 20s \(default: 20s, env: GRAPH_RELAY_HOLD\)/);
});

t.test('a number that cannot be is refused by name, with what it may be', async (t) => {
  const data = await tempFolder(t);
  const refusals: readonly (readonly [part: string, name: string, value: string, range: RegExp])[] = [
    ['server', 'queue-per-desktop', '0', /a whole number from 1 to 10000\./],
    ['server', 'requests-per-agent', 'off', /a whole number from 0 to 1000000\./],
    ['server', 'keep-runs', '1e3', /a whole number from 0 to 1000000\./],
    ['server', 'lost-after', '59s', /a time from 1m to 30d, with its unit: 90s, 15m, 24h, 7d\./],
    ['server', 'start-by', '3600', /a time from 1s to 7d, with its unit/],
    ['server', 'keep-runs-for', '23h', /a time from 24h to 3650d/],
    ['desktop', 'slots', '1.5', /a whole number from 1 to 64\./],
    ['desktop', 'hold', '21s', /a time from 1s to 20s/],
  ];
  for (const [part, name, value, range] of refusals) {
    const variable = `GRAPH_RELAY_${name.toUpperCase().replaceAll('-', '_')}`;
    const asOption = await run(t, [part, `--${name}`, value, '--data', data]);
    const asVariable = await run(t, [part, '--data', data], { env: { [variable]: value } });
    for (const { code, stderr, stdout } of [asOption, asVariable]) {
      t.equal(code, USAGE);
      t.match(stderr, new RegExp(`option '--${name} <\\w+>' .*'${value}'.* is invalid\\. It must be ${range.source}`));
      t.equal(stdout, '', 'nothing has begun');
    }
    t.match(asVariable.stderr, `from env '${variable}'`);
  }
});

t.test('limits from the command line and the environment hold in the relay, and status shows them', async (t) => {
  const data = await tempFolder(t);
  const args = ['server', '--port', '0', '--data', data, '--queue-per-desktop', '2', '--start-by', '90s'];
  const env = { GRAPH_RELAY_LOST_AFTER: '5m', GRAPH_RELAY_QUEUE_PER_DESKTOP: '1' };
  const relay = launch(t, args, { env });
  const { url = '' } = await relay.ready;
  const token = await makeToken(data, 'desktop', 'laptop');
  const agent = new McpCaller(url, await makeToken(data, 'agent', 'tester'));
  await desktopCall({ url, token }, 'sync', plainSync({ projects: sharedSession(SESSION), capacity: 0 }));

  const ticket = await agent.start(SESSION);
  t.equal(Date.parse(ticket.start_by) - Date.parse(ticket.timing.queued_at), 90_000);
  await agent.start(SESSION, { n: 2 });
  await t.rejects(
    agent.start(SESSION, { n: 3 }),
    { message: /2 runs are waiting for this desktop/ },
    'the option wins',
  );

  const status = ['server', 'status', '--data', data];
  const shown = JSON.parse((await run(t, [...status, '--json'])).stdout) as RelayStatus;
  t.match(shown, { url, sockets: 0, writable: true, trouble: null });
  t.strictSame(
    shown.limits.filter(({ is_default }) => !is_default),
    [
      { name: 'queue-per-desktop', value: 2, unit: 'runs', is_default: false },
      { name: 'start-by', value: 90_000, unit: 'ms', is_default: false },
      { name: 'lost-after', value: 300_000, unit: 'ms', is_default: false },
    ],
  );
  const { stdout } = await run(t, status);
  t.match(stdout, new RegExp(`^listening on ${url}, 0 WebSockets of desktops\nits disk takes writes\n`));
  t.match(stdout, /^ {2}lost-after +5m {2}\(set by the owner\)$/m);
  t.match(stdout, /^ {2}queue-per-project +500 runs$/m);

  await relay.end();
  t.match(await run(t, status), { code: 0, stdout: 'not running\n' });
  const again = await startRelay(t, data);
  t.match(await run(t, status), { stdout: /^ {2}start-by +24h$/m }, 'they are not written down');
  await again.process.end();
});

t.test('who asks more often than the owner allows is told when to come back; 0 takes the limit away', async (t) => {
  const data = await tempFolder(t);
  const args = ['server', '--port', '0', '--data', data, '--requests-per-desktop', '2'];
  const relay = launch(t, args, { env: { GRAPH_RELAY_REQUESTS_PER_AGENT: '0' } });
  const { url = '' } = await relay.ready;
  const token = await makeToken(data, 'desktop', 'laptop');
  const ask = () =>
    fetch(new URL('/trpc/relay.probe', url), {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"hold_ms":0}',
    });
  t.same([(await ask()).status, (await ask()).status], [200, 200]);
  const refused = await ask();
  t.equal(refused.status, 429);
  const seconds = Number(refused.headers.get('retry-after'));
  t.ok(seconds >= 1 && seconds <= 30, `after ${seconds} seconds`);
  t.match(await relay.line('door.limited'), { level: 'warn', kind: 'desktop' });
  const { stdout } = await run(t, ['server', 'status', '--data', data]);
  t.match(stdout, /^ {2}requests-per-agent +no limit {2}\(set by the owner\)$/m);
  t.match(stdout, /^ {2}requests-per-desktop +2 requests {2}\(set by the owner\)$/m);
});

t.test('the limits of a desktop come from its command line and environment, and status shows them', async (t) => {
  const world = await startWorld(t);
  const { data, url, desktopToken: token } = world;
  const desktop = await startDesktop(t, {
    data,
    url,
    token,
    args: ['--slots', '3'],
    env: { GRAPH_RELAY_HOLD: '4s', GRAPH_RELAY_SLOTS: '9' },
  });
  t.match(await desktop.line('relay.connected'), { hold_granted_ms: 0 });
  const status = ['desktop', 'status', '--data', data];
  const shown = JSON.parse((await run(t, [...status, '--json'])).stdout);
  t.match(shown, { limits: { slots: 3, hold_ms: 4_000 }, transport: { transport: 'long-poll', hold_ms: 4_000 } });
  t.match(await run(t, status), { stdout: /^limits: 3 runs at once, requests held for up to 4s$/m });
});
