/** The whole desktop on paths with faults, in virtual time: which transport it settles on, how soon, and how it returns. */
import t from 'tap';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { desktopOn, ScriptedPath } from './scripted-path.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

function start(faults: Partial<Pick<ScriptedPath, 'cutAfterMs' | 'cutBy' | 'socket' | 'socketIdleMs'>> = {}) {
  const path = new ScriptedPath(new VirtualClock());
  Object.assign(path, faults);
  return { path, clock: path.clock, ...desktopOn(path) };
}

type Started = ReturnType<typeof start>;

/** Virtual milliseconds until the desktop is connected over this transport. */
async function until(world: Started, transport: string): Promise<number> {
  const { clock, agent } = world;
  const from = clock.monotonic();
  while (agent.snapshot().transport.transport !== transport || !agent.snapshot().connected) {
    if (clock.monotonic() - from > 10 * MINUTE) throw new Error(`still ${JSON.stringify(agent.snapshot().transport)}`);
    await clock.advance(100);
  }
  return clock.monotonic() - from;
}

function requestsPerMinute({ path, clock }: Started, sinceMs: number): number {
  const recent = path.requests.filter(({ at }) => at >= sinceMs && at < clock.monotonic());
  return (recent.length * MINUTE) / (clock.monotonic() - sinceMs);
}

t.test('on a good path it is long-poll with the whole hold, and three requests a minute', async (t) => {
  const world = start();
  await world.clock.advance(10 * MINUTE);
  t.match(world.agent.snapshot().transport, {
    transport: 'long-poll',
    hold_ms: 20_000,
    retry_in_ms: null,
    holds_cut: 0,
  });
  t.ok(requestsPerMinute(world, MINUTE) < 3.3);
  t.equal(world.path.requests[0]?.holdMs, 0, 'connected is who has an answer, not who has sent something');
});

t.test('holds that get an HTML 504 at 15 s are shortened to 12 s within 31 s (C01)', async (t) => {
  const world = start({ cutAfterMs: 15 * SECOND, cutBy: 'html-504' });
  await world.clock.advance(32 * SECOND);
  const { transport } = world.agent.snapshot();
  t.match(transport, { transport: 'long-poll', hold_ms: 12_000, holds_cut: 2 });
  t.match(transport.reason, /cut 2 times in a row, after 15\.0 s \(.* status 504 .*so they are held for 12\.0 s$/);
  const settledAt = world.clock.monotonic();
  await world.clock.advance(4 * MINUTE);
  t.equal(world.agent.snapshot().transport.holds_cut, 2, 'no more holds are cut');
  t.ok(requestsPerMinute(world, settledAt) < 6);
  t.match(
    world.lines.filter(({ event }) => event === 'transport.changed'),
    [{ fields: { from: 'long-poll', to: 'long-poll', hold_ms: 12_000 } }],
  );
});

t.test('a cut hold is not called offline (C02)', async (t) => {
  const world = start({ cutAfterMs: 15 * SECOND, cutBy: 'html-504' });
  for (let second = 0; second < 60; second++) {
    await world.clock.advance(SECOND);
    t.ok(world.agent.snapshot().connected, `at ${second + 1} s`);
  }
  t.notOk(world.lines.some(({ event }) => event === 'relay.disconnected'));
  t.equal(world.lines.filter(({ event }) => event === 'relay.hold-cut').length, 2);
});

t.test('a proxy whose limit is the hold itself never wins the race (C02)', async (t) => {
  const world = start({ cutAfterMs: 20 * SECOND, cutBy: 'html-504' });
  await world.clock.advance(50 * 20 * SECOND);
  t.match(world.agent.snapshot().transport, { hold_ms: 20_000, holds_cut: 0 });
});

t.test('a limit just below the hold is found out, though it cuts only one hold in four (C02)', async (t) => {
  const world = start({ cutAfterMs: 19.5 * SECOND, cutBy: 'html-504' });
  await world.clock.advance(50 * 20 * SECOND);
  t.equal(world.lines.filter(({ event }) => event === 'relay.hold-cut').length, 2);
  t.match(world.lines.filter(({ event }) => event === 'transport.changed')[0], { fields: { hold_ms: 15_600 } });
});

t.test('resets at 2 s and refused upgrades: plain polling within 6 s (C05)', async (t) => {
  const world = start({ cutAfterMs: 2 * SECOND, socket: 'refused' });
  const ms = await until(world, 'plain');
  t.ok(ms < 6 * SECOND, `${ms} ms`);
  const settledAt = world.clock.monotonic();
  await world.clock.advance(4 * MINUTE);
  t.equal(world.agent.snapshot().transport.transport, 'plain');
  t.match(world.agent.snapshot().transport.reason, /the WebSocket failed \(.*status 404/);
  t.ok(requestsPerMinute(world, settledAt) < 4);
});

t.test('holds cut at 3 s cost a handful of requests a minute, not twenty (C25)', async (t) => {
  for (const socket of ['none', 'refused'] as const) {
    const world = start({ cutAfterMs: 3 * SECOND, socket });
    await world.clock.advance(4 * MINUTE);
    t.ok(requestsPerMinute(world, 0) < 8, `${requestsPerMinute(world, 0)} a minute, WebSocket ${socket}`);
  }
});

t.test('a WebSocket that swallows all frames is given up after one deadline (C07)', async (t) => {
  const world = start({ cutAfterMs: 5 * SECOND, socket: 'swallows' });
  const ms = await until(world, 'plain');
  t.ok(ms < 17 * SECOND, `${ms} ms`);
  t.match(world.agent.snapshot().transport.reason, /the WebSocket failed \(.*did not answer within 5000 ms/);
});

t.test('an upgrade into a black hole is given up after one deadline', async (t) => {
  const world = start({ cutAfterMs: 5 * SECOND, socket: 'black-hole' });
  const ms = await until(world, 'plain');
  t.ok(ms < 17 * SECOND, `${ms} ms`);
});

t.test('holds that nobody ever ends lead to a WebSocket within a minute (C13)', async (t) => {
  const world = start({ cutAfterMs: 5 * SECOND, cutBy: 'silence' });
  const ms = await until(world, 'websocket');
  t.ok(ms < 45 * SECOND, `${ms} ms`);
  await world.clock.advance(4 * MINUTE);
  t.equal(world.agent.snapshot().transport.transport, 'websocket');
});

t.test('a WebSocket is kept where silence is cut after 5 s, with pings instead of polling', async (t) => {
  const world = start({ cutAfterMs: 5 * SECOND, socketIdleMs: 5 * SECOND });
  const ms = await until(world, 'websocket');
  t.ok(ms < 12 * SECOND, `${ms} ms`);
  await world.clock.advance(4 * MINUTE);
  t.equal(world.agent.snapshot().transport.transport, 'websocket');
  t.ok(world.agent.snapshot().connected);
  const syncs = world.path.requests.filter(({ call, over }) => call === 'sync' && over === 'websocket');
  t.ok(syncs.length < 18, `${syncs.length} syncs in four minutes`);
});

for (const transport of ['long-poll', 'websocket'] as const) {
  t.test(`restarts of the relay cost no transport change (${transport})`, async (t) => {
    const world = start(transport === 'websocket' ? { cutAfterMs: 5 * SECOND } : {});
    await until(world, transport);
    for (const downMs of [100, 3 * SECOND, 40 * SECOND, 3 * SECOND]) {
      await world.clock.advance(45 * SECOND);
      world.path.kill();
      await world.clock.advance(downMs);
      world.path.relayIsUp = true;
      await world.clock.advance(22 * SECOND);
      const { connected, transport: now } = world.agent.snapshot();
      t.ok(connected, `connected after ${downMs} ms`);
      t.equal(now.transport, transport, `after ${downMs} ms: ${now.reason}`);
    }
  });
}

t.test('while the relay is down attempts are spread out, whatever the transport was', async (t) => {
  for (const faults of [{}, { cutAfterMs: 5 * SECOND }, { cutAfterMs: 2 * SECOND, socket: 'refused' as const }]) {
    const world = start(faults);
    await world.clock.advance(30 * SECOND);
    world.path.kill();
    const from = world.clock.monotonic();
    await world.clock.advance(10 * MINUTE);
    t.ok(requestsPerMinute(world, from) < 12, `${requestsPerMinute(world, from)} a minute`);
    t.notOk(world.agent.snapshot().connected);
    t.match(world.agent.snapshot().trouble, /ECONN/);
  }
});

t.test('the first choice comes back by itself within the pause after the path has healed (C08)', async (t) => {
  const world = start({ cutAfterMs: 2 * SECOND, socket: 'refused' });
  await until(world, 'plain');
  Object.assign(world.path, { cutAfterMs: Number.POSITIVE_INFINITY, socket: 'none' });
  const ms = await until(world, 'long-poll');
  t.ok(ms < 6 * MINUTE, `${ms} ms`);
  t.match(world.agent.snapshot().transport, { reason: 'the first choice works again', hold_ms: 20_000 });
});

t.test('trials go on beside the work: syncs over the fallback never stop for them (C08)', async (t) => {
  const world = start({ cutAfterMs: 5 * SECOND, cutBy: 'silence', socketIdleMs: 5 * SECOND });
  await until(world, 'websocket');
  const from = world.clock.monotonic();
  await world.clock.advance(30 * MINUTE);
  const requests = world.path.requests.filter(({ at }) => at > from);
  const probes = requests.filter(({ call }) => call === 'probe');
  t.equal(probes.length, 2, 'after 5 and 15 minutes');
  const syncs = requests.filter(({ call }) => call === 'sync');
  t.same([...new Set(syncs.map(({ over }) => over))], ['websocket']);
  const gaps = syncs.slice(1).map(({ at }, index) => at - syncs[index]!.at);
  t.ok(Math.max(...gaps) < 21 * SECOND, 'the desktop is never without a held sync');
});

t.test('where holds are still cut a WebSocket that works again is found from plain polling', async (t) => {
  const world = start({ cutAfterMs: 2 * SECOND, socket: 'refused' });
  await until(world, 'plain');
  world.path.socket = 'none';
  const ms = await until(world, 'websocket');
  t.ok(ms < 6 * MINUTE, `${ms} ms`);
});

t.test('a drain does not wait for a trial', async (t) => {
  const world = start({ cutAfterMs: 5 * SECOND, cutBy: 'silence' });
  await until(world, 'websocket');
  while (!world.path.requests.some(({ call }) => call === 'probe')) await world.clock.advance(SECOND);
  await world.clock.settle(world.agent.drain(0));
  const before = world.clock.monotonic();
  t.equal(await world.clock.settle(world.ended), 'stopped');
  t.equal(world.clock.monotonic(), before);
});

t.test('after a wake from sleep the first choice is tried at once, with a short request first (C08)', async (t) => {
  const world = start({ cutAfterMs: 2 * SECOND, socket: 'refused' });
  await until(world, 'plain');
  Object.assign(world.path, { cutAfterMs: Number.POSITIVE_INFINITY });
  const before = world.path.requests.length;
  world.clock.stepWall(8 * 60 * MINUTE);
  await world.clock.advance(11 * SECOND);
  t.equal(world.agent.snapshot().transport.transport, 'long-poll');
  t.equal(world.agent.snapshot().transport.reason, 'this machine woke from sleep, so the path may be another');
  t.match(world.path.requests[before], { call: 'sync', over: 'long-poll', holdMs: 0 });
});

t.test('in another network the first choice is tried at once, and a held sync is taken back (C08)', async (t) => {
  const path = new ScriptedPath(new VirtualClock());
  let network = '192.168.1.7';
  const { agent } = desktopOn(path, { network: () => network });
  await path.clock.advance(30 * SECOND);
  const atLook = 40 * SECOND;
  network = '10.0.0.3';
  await path.clock.advance(11 * SECOND);
  const syncs = path.requests.filter(({ at }) => at >= atLook);
  t.match(syncs, [
    { at: atLook, call: 'sync', holdMs: 0 },
    { call: 'sync', holdMs: 20_000 },
  ]);
  t.equal(agent.snapshot().transport.reason, 'the first choice', 'nothing was wrong, so nothing is said');
});

t.test('a desktop that is held to one transport never leaves it', async (t) => {
  const path = new ScriptedPath(new VirtualClock());
  Object.assign(path, { cutAfterMs: 2 * SECOND });
  const { agent } = desktopOn(path, { mode: 'long-poll' });
  await path.clock.advance(10 * MINUTE);
  t.match(agent.snapshot().transport, { transport: 'long-poll', reason: 'the owner chose it' });
  t.same([...new Set(path.requests.map(({ over }) => over))], ['long-poll']);
});

for (const mode of ['auto', 'websocket'] as const) {
  t.test(`no hold is longer than the owner wants, and a shorter one is no fallback (${mode})`, async (t) => {
    const path = new ScriptedPath(new VirtualClock());
    const { agent } = desktopOn(path, { mode, holdMs: 6 * SECOND });
    await path.clock.advance(20 * MINUTE);
    t.match(agent.snapshot(), {
      transport: { hold_ms: 6 * SECOND, retry_in_ms: null },
      limits: { hold_ms: 6 * SECOND },
    });
    t.equal(Math.max(...path.requests.map(({ holdMs }) => holdMs)), 6 * SECOND);
    t.notOk(
      path.requests.some(({ call }) => call === 'probe'),
      'nothing better is looked for',
    );
  });
}

t.test(
  'an owner’s shorter hold that is cut all the same leads to a WebSocket, and is asked for again later',
  async (t) => {
    const path = new ScriptedPath(new VirtualClock());
    Object.assign(path, { cutAfterMs: 5 * SECOND });
    const { agent } = desktopOn(path, { holdMs: 9 * SECOND });
    await path.clock.advance(MINUTE);
    t.match(agent.snapshot().transport, { transport: 'websocket', hold_ms: 9 * SECOND });
    path.cutAfterMs = Number.POSITIVE_INFINITY;
    await path.clock.advance(6 * MINUTE);
    t.match(agent.snapshot().transport, { transport: 'long-poll', hold_ms: 9 * SECOND });
  },
);
