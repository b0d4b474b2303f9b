import t from 'tap';
import { seededIds, seededRandom } from '../../bench/sim/seeded.ts';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { Backoff } from '../../protocol/backoff.ts';
import { createMemoryState } from '../../protocol/host/state/memory-state.ts';
import type { Clock, Ports } from '../../protocol/ports.ts';
import { pause } from '../../protocol/waiting.ts';
import { createRelay } from '../../server/relay.ts';
import { RELAY_TABLES, type RelayTables } from '../../server/rows.ts';
import {
  createTestRelay,
  PROJECT,
  readRun,
  SECOND,
  SILENT,
  session,
  startRun,
  syncInput,
  type TestRelay,
  uuid,
} from './support.ts';

const never = new AbortController().signal;

/** A sync of the desktop at this place, which is held and then answered. */
function heldSync(world: TestRelay, desktop: number, changes: object = {}) {
  return world.trpc('sync', holding(desktop, changes), { desktop });
}

function holding(desktop: number, changes: object = {}) {
  const projects = [{ project_id: PROJECT, sessions: [session(desktop + 1)] }];
  return syncInput({ instance_id: uuid(1_000 + desktop), projects, hold_ms: 20 * SECOND, ...changes });
}

t.test('one desktop is sent home at once, and told to come back soon', async (t) => {
  const world = await createTestRelay();
  const held = heldSync(world, 0);
  await world.clock.advance(SECOND);
  const before = world.clock.monotonic();
  const drained = world.relay.drain();
  const { status, body } = await world.settle(held);
  t.equal(world.clock.monotonic(), before);
  t.equal(status, 200);
  t.match(body.result.data, { commands: [] });
  t.ok(body.result.data.next_sync_ms <= 25, 'alone it need not wait');
  await world.settle(drained);
});

t.test('many are sent home over two seconds, each with a moment of its own to come back', async (t) => {
  const world = await createTestRelay({ desktops: 200 });
  const goneAt: number[] = [];
  const backAt: number[] = [];
  const held = world.desktops.map(async (_, desktop) => {
    const { body } = await heldSync(world, desktop);
    goneAt.push(world.clock.monotonic());
    backAt.push(world.clock.monotonic() + body.result.data.next_sync_ms);
  });
  await world.clock.advance(SECOND);
  const start = world.clock.monotonic();
  await world.settle(world.relay.drain());
  await world.settle(Promise.all(held));
  const spread = Math.max(...goneAt) - start;
  t.ok(spread > 1_900 && spread <= 2_000, `sent home over ${spread} ms`);
  t.ok(mostIn(backAt, 1_000) <= 50, `${mostIn(backAt, 1_000)} come back in the busiest second`);
});

t.test(
  'three thousand are sent home over two seconds as well, though no timer is shorter than a millisecond',
  async (t) => {
    const clock = new VirtualClock('promises');
    const coarse: Clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after: (ms, run) => clock.after(Math.max(1, ms), run),
    };
    const random = seededRandom(1);
    const ports: Ports = { clock: coarse, random, ids: seededIds(random), log: SILENT };
    const relay = createRelay({
      ports,
      store: createMemoryState<RelayTables>({ tables: RELAY_TABLES, clock: coarse }),
    });
    const goneAt: number[] = [];
    const held = Array.from({ length: 3_000 }, async (_, desktop) => {
      const input = {
        instance_id: uuid(1_000 + desktop),
        projects: [],
        holding: [],
        capacity: 1,
        hold_ms: 20 * SECOND,
      };
      await relay.calls.sync(input, { desktopId: `d${desktop}`, transport: 'long-poll', signal: never });
      goneAt.push(clock.monotonic());
    });
    await clock.advance(SECOND);
    const start = clock.monotonic();
    await clock.settle(relay.drain());
    await clock.settle(Promise.all(held));
    const spread = Math.max(...goneAt) - start;
    t.ok(spread > 1_900 && spread <= 2_002, `sent home over ${spread} ms`);
  },
);

for (const awayMs of [SECOND, 3 * SECOND, 10 * SECOND, 30 * SECOND]) {
  t.test(`200 desktops come back to a relay that was away for ${awayMs / SECOND} s without a peak (C17)`, async (t) => {
    const world = await createTestRelay({ desktops: 200 });
    const { clock } = world;
    const fleet = startFleet(world);
    await clock.advance(30 * SECOND);
    await world.settle(world.relay.drain());
    fleet.relay = null;
    const image = world.crash();
    await clock.advance(awayMs);
    fleet.requests.length = 0;
    fleet.relay = await createTestRelay({ after: { image, of: world }, seed: 2 });
    const start = clock.monotonic();
    await clock.advance(25 * SECOND);
    t.equal(fleet.backAt.length, 200, 'all are back');
    // While they come back: until nine of ten are there. The rest trickles in.
    const windowMs = Math.max(SECOND, fleet.backAt[180]! - start);
    const perSecond = bins(fleet.requests, start, SECOND, Math.ceil(windowMs / SECOND));
    const peak = Math.max(...perSecond);
    const peakToMean = peak / (perSecond.reduce((sum, count) => sum + count, 0) / (windowMs / SECOND));
    const tenth = Math.max(...bins(fleet.requests, start, 100, 250));
    t.comment(
      `requests a second: ${perSecond.join(' ')}; peak to mean ${peakToMean.toFixed(2)}; most in 100 ms: ${tenth}`,
    );
    t.ok(peakToMean < 3, `peak to mean is ${peakToMean.toFixed(2)}`);
    t.ok(tenth <= 40, 'and no tenth of a second takes a fifth of them');
  });
}

interface Fleet {
  /** Null: nobody answers. */
  relay: TestRelay | null;
  readonly requests: number[];
  /** When each desktop asked for the first time after an absence, in order. */
  readonly backAt: number[];
}

/** Desktops that do what ours does: hold, come back when they are told to, and back off while nobody answers. */
function startFleet(world: TestRelay): Fleet {
  const { clock, ports } = world;
  const fleet: Fleet = { relay: world, requests: [], backAt: [] };
  async function desktopAt(place: number): Promise<never> {
    const backoff = new Backoff(ports.random);
    let connected = false;
    let known = fleet.relay;
    for (;;) {
      const { relay } = fleet;
      if (relay === null) {
        connected = false;
        await pause(clock, backoff.next(), never);
        continue;
      }
      fleet.requests.push(clock.monotonic());
      if (relay !== known && relay !== world) fleet.backAt.push(clock.monotonic());
      known = relay;
      const input = holding(place, connected ? {} : { hold_ms: 0 });
      const { next_sync_ms } = (await relay.trpc('sync', input, { desktop: place })).body.result.data;
      await pause(clock, connected ? next_sync_ms : 0, never);
      connected = true;
      backoff.reset();
    }
  }
  for (const place of world.desktops.keys()) void desktopAt(place);
  return fleet;
}

t.test('nothing is offered once the relay is about to stop, and all of it runs once afterwards (C42)', async (t) => {
  const world = await createTestRelay({ desktops: 3 });
  const held = [0, 1, 2].map((desktop) => heldSync(world, desktop));
  await world.clock.advance(SECOND);
  const drained = world.relay.drain();
  const tickets = [await startRun(world, { n: 1 }), await startRun(world, { n: 2 }), await startRun(world, { n: 3 })];
  const late = world.trpc('sync', holding(1), { desktop: 1 });
  const plain = world.plain('sync', { project_id: PROJECT, sessions: [session(3)] }, { desktop: 2 });
  for (const answer of [...held, late]) t.strictSame((await world.settle(answer)).body.result.data.commands, []);
  t.strictSame((await world.settle(plain)).body, { commands: [] });
  await world.settle(drained);
  const next = await createTestRelay({ after: { image: world.crash(), of: world } });
  for (const [desktop, { command_id }] of tickets.entries()) {
    t.equal((await readRun(next, command_id)).status, 'queued');
    const { body } = await next.settle(next.trpc('sync', holding(desktop, { hold_ms: 0 }), { desktop }));
    t.match(body.result.data.commands, [{ command_id }]);
  }
});

t.test('waits of agents end at once with the present state', async (t) => {
  const world = await createTestRelay({ desktops: 2 });
  const held = [0, 1].map((desktop) => heldSync(world, desktop, { capacity: 0 }));
  await world.clock.advance(SECOND);
  const { command_id } = await startRun(world);
  const wait = () => world.relay.agents.getRun(world.agent, { command_id, waitMs: 50 * SECOND, signal: never });
  const waiting = wait();
  await world.clock.advance(SECOND);
  const before = world.clock.monotonic();
  const drained = world.relay.drain();
  t.match(await waiting, { command_id, status: 'queued' });
  t.match(await wait(), { wait_seconds_granted: 0 }, 'and no new ones begin');
  t.equal(world.clock.monotonic(), before);
  await world.settle(Promise.all([drained, ...held]));
});

t.test('held controls are put off by an error that is waited out, with a time to try again', async (t) => {
  const world = await createTestRelay();
  await world.settle(world.trpc('sync', syncInput()));
  const { command_id } = await startRun(world);
  const control = { command_id, execution_id: uuid(7), phase: 'running', hold_ms: 20 * SECOND };
  await world.settle(world.trpc('control', { ...control, phase: 'starting', hold_ms: 0 }));
  const held = world.trpc('control', control);
  await world.clock.advance(SECOND);
  const drained = world.relay.drain();
  for (const answer of [held, world.trpc('control', control)]) {
    const { status, headers, body } = await world.settle(answer);
    t.equal(status, 503);
    t.equal(headers.get('retry-after'), '5');
    t.equal(body.error.data.relayCode, 'shutting-down');
  }
  t.strictSame((await world.settle(world.trpc('control', { ...control, hold_ms: 0 }))).status, 200);
  await world.settle(drained);
  const ready = await world.relay.fetch(new Request('http://relay.test/readyz'));
  t.equal(ready.status, 503);
  t.equal(ready.headers.get('retry-after'), '5');
});

function bins(at: readonly number[], from: number, widthMs: number, count: number): number[] {
  const counts = new Array<number>(count).fill(0);
  for (const instant of at) {
    const bin = Math.floor((instant - from) / widthMs);
    if (bin >= 0 && bin < count) counts[bin]!++;
  }
  return counts;
}

function mostIn(at: readonly number[], widthMs: number): number {
  const first = Math.min(...at);
  return Math.max(...bins(at, first, widthMs, Math.ceil((Math.max(...at) - first + 1) / widthMs)));
}
