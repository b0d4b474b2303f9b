import t from 'tap';
import { createWorld as createWholeWorld } from '../../bench/sim/world.ts';
import { PRESENCE_MS } from '../../protocol/limits.ts';
import { createTestRelay, PROJECT, readRun, SECOND, startRun, syncInput, type TestRelay, uuid } from './support.ts';

const iso = (at: number) => new Date(at).toISOString();

async function presence(world: TestRelay) {
  const { sessions } = await world.relay.agents.listSessions(world.agent, { project_id: PROJECT, limit: 1 });
  return sessions[0]?.desktop;
}

const sync = (world: TestRelay, changes: object = {}) => world.settle(world.trpc('sync', syncInput({ ...changes })));

t.test('a desktop is online while it calls, since its first call, and offline when it has been silent', async (t) => {
  const world = await createTestRelay();
  const since = iso(world.clock.now());
  for (let n = 0; n < 10; n++) {
    await sync(world, { capacity: 0 });
    await world.clock.advance(20 * SECOND);
  }
  const seen = iso(world.clock.now() - 20 * SECOND);
  t.strictSame(await presence(world), {
    online: true,
    since,
    transport: 'long-poll',
    asleep: false,
    last_seen_at: seen,
  });
  await world.clock.advance(PRESENCE_MS);
  t.strictSame(
    await presence(world),
    { online: false, since: null, transport: null, asleep: null, last_seen_at: seen },
    'nobody knows why',
  );
  const back = iso(world.clock.now());
  await sync(world, { capacity: 0 });
  t.match(await presence(world), { online: true, since: back });
});

t.test('tickets and runs show the same', async (t) => {
  const world = await createTestRelay();
  await sync(world, { capacity: 0 });
  const ticket = await startRun(world);
  t.strictSame(ticket.desktop, await presence(world));
  await world.clock.advance(PRESENCE_MS);
  t.match((await readRun(world, ticket.command_id)).desktop, { online: false, asleep: null });
});

for (const [leaving, asleep] of [
  ['stopping', false],
  ['asleep', true],
] as const) {
  t.test(`a desktop that says "${leaving}" is offline at once, and gets nothing more (C42)`, async (t) => {
    const world = await createTestRelay();
    const held = world.trpc('sync', syncInput({ hold_ms: 20 * SECOND }));
    await world.clock.advance(SECOND);
    const goodbye = await sync(world, { leaving });
    t.match(goodbye.body.result.data, { commands: [], hold_granted_ms: 0 });
    t.strictSame((await world.settle(held)).body.result.data.commands, [], 'its poll has ended, empty');
    t.match(await presence(world), { online: false, since: null, asleep, last_seen_at: iso(world.clock.now()) });
    const { command_id } = await startRun(world);
    t.match(await readRun(world, command_id), { status: 'queued', timing: { offered_at: null } });
    // It still delivers what it has, and that does not make it available.
    await world.settle(world.trpc('complete', { command_id: uuid(5), execution_id: uuid(6), status: 'failed' }));
    t.match(await presence(world), { online: false, asleep });
    const next = await sync(world, leaving === 'asleep' ? {} : { instance_id: uuid(901) });
    t.match(next.body.result.data.commands, [{ command_id }]);
    t.match(await presence(world), { online: true, asleep: false });
  });
}

t.test('a poll that was overtaken by its own goodbye gets nothing and brings nobody back (C42)', async (t) => {
  const world = await createTestRelay();
  await sync(world, { capacity: 0 });
  await sync(world, { leaving: 'stopping' });
  const { command_id } = await startRun(world);
  const late = await sync(world, { hold_ms: 20 * SECOND });
  t.match(late.body.result.data, { commands: [], hold_granted_ms: 0 });
  t.match(await presence(world), { online: false });
  t.match(await readRun(world, command_id), { timing: { offered_at: null } });
});

t.test('what was offered to a desktop that leaves without having it is queued again at once', async (t) => {
  const world = await createTestRelay();
  await sync(world);
  const { command_id } = await startRun(world);
  await sync(world);
  await sync(world, { leaving: 'stopping', holding: [] });
  const next = await sync(world, { instance_id: uuid(901) });
  t.match(next.body.result.data.commands, [{ command_id }]);
});

for (const mode of ['long-poll', 'websocket', 'plain'] as const) {
  t.test(`our desktop says goodbye when it is drained (${mode})`, async (t) => {
    const world = await createWholeWorld({ seed: 3, desktops: [{ mode, runMs: () => SECOND }], networkMs: 20 });
    const list = () => world.relay.agents.listSessions(world.caller, { project_id: world.projectId, limit: 1 });
    await world.clock.advance(5 * SECOND);
    t.match((await list()).sessions[0]?.desktop, { online: true, transport: mode });
    const before = world.clock.monotonic();
    await world.clock.settle(world.desktops[0]!.agent.drain(10 * SECOND));
    t.match((await list()).sessions[0]?.desktop, { online: false, asleep: false });
    t.ok(world.clock.monotonic() - before < SECOND, 'and does not wait for anything else');
  });
}
