/**
 * nginx and haproxy between a real desktop and a real relay: in each set-up a command that is queued early and one that
 * is queued when the transport has settled run once each. The set-ups wait side by side.
 */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { missing, type NginxOptions, type ProxyProgram, startHaproxy, startNginx } from './proxy-programs.ts';
import { startRelay } from './rig.ts';
import { describeSettling, type Settling, settle } from './settling.ts';

const SECOND = 1_000;
/** Longer than a hold: what is cut at its very end would show. */
const QUIET_MS = 22 * SECOND;

interface SetUp {
  readonly name: string;
  readonly program: 'nginx' | 'haproxy';
  readonly start: (t: Test, folder: string, target: number) => Promise<ProxyProgram>;
  readonly settles: Omit<Settling, 'quietMs'>;
}

const nginx = (options: Omit<NginxOptions, 'target'>): Pick<SetUp, 'program' | 'start'> => ({
  program: 'nginx',
  start: (t, folder, target) => startNginx(t, folder, { target, ...options }),
});

const haproxy = (serverTimeout: string, tunnelTimeout: string): Pick<SetUp, 'program' | 'start'> => ({
  program: 'haproxy',
  start: (t, folder, target) => startHaproxy(t, folder, { target, serverTimeout, tunnelTimeout }),
});

const SET_UPS: readonly SetUp[] = [
  {
    name: 'nginx with proxy_read_timeout 5s',
    ...nginx({ readTimeout: '5s', upgrade: true }),
    settles: { transport: 'websocket', withinMs: 15 * SECOND },
  },
  {
    name: 'nginx with proxy_read_timeout 12s',
    ...nginx({ readTimeout: '12s', upgrade: true }),
    settles: { transport: 'long-poll', holdMs: [9_000, 10_000], withinMs: 30 * SECOND },
  },
  {
    name: 'nginx with proxy_read_timeout 20s',
    ...nginx({ readTimeout: '20s', upgrade: true }),
    settles: { transport: 'long-poll', holdMs: [20_000, 20_000], withinMs: 0 },
  },
  {
    name: 'nginx without Upgrade headers',
    ...nginx({ readTimeout: '60s', upgrade: false }),
    settles: { transport: 'long-poll', holdMs: [20_000, 20_000], withinMs: 0 },
  },
  {
    name: 'nginx with proxy_read_timeout 5s and without Upgrade headers',
    ...nginx({ readTimeout: '5s', upgrade: false }),
    settles: { transport: 'plain', withinMs: 15 * SECOND },
  },
  {
    name: 'haproxy with timeout server 5s and timeout tunnel 1h',
    ...haproxy('5s', '1h'),
    settles: { transport: 'websocket', withinMs: 15 * SECOND },
  },
  {
    name: 'haproxy with timeout server 5s and timeout tunnel 5s',
    ...haproxy('5s', '5s'),
    settles: { transport: 'websocket', withinMs: 15 * SECOND },
  },
];

async function play({ program, start, settles }: SetUp, index: number) {
  if (missing(program)) return null;
  const relay = await startRelay(t);
  const { url } = await start(t, join(folder, String(index)), relay.port);
  return settle(t, { relay, url, expected: { ...settles, quietMs: QUIET_MS } });
}

const folder = t.testdir({});
const outcomes = await Promise.all(SET_UPS.map(play));

for (const [index, { name, program, settles }] of SET_UPS.entries()) {
  t.test(`a command runs once, and the transport settles: ${name}`, { skip: missing(program) }, async (t) => {
    const settled = outcomes[index]!;
    for (const line of describeSettling(settled)) t.comment(line);
    t.match(settled.runs, Array(2).fill({ status: 'completed', result: { greeting: 'hello' } }));
    t.same([...settled.desktop.runs.values()], [1, 1]);
    t.ok(settled.asExpected, `${settles.transport} within ${settles.withinMs} ms`);
    t.ok(settled.snapshot.connected);
    t.ok(
      settled.desktop.lines.filter(({ event }) => event === 'transport.changed').length <= 2,
      'it does not move to and fro',
    );
  });
}
