import t from 'tap';
import { createWorld, type World, type WorldDesktop } from '../../bench/sim/world.ts';
import type { ModeName } from '../../desktop-agent/modes.ts';
import type { AgentPrincipal } from '../../server/agent-api.ts';

const SECOND = 1_000;
let keys = 0;

async function queue(world: World, desktop: WorldDesktop, caller: AgentPrincipal = world.caller) {
  const request = { graph_session_id: desktop.graphSessionId, arguments: {}, idempotency_key: `key-${++keys}-xxxxxx` };
  const before = world.clock.monotonic();
  const ticket = await world.clock.settle(world.relay.agents.runSession(caller, request));
  return { id: ticket.command_id, at: before };
}

async function read(world: World, id: string, caller: AgentPrincipal = world.caller) {
  const request = { command_id: id, waitMs: 0, signal: new AbortController().signal };
  return world.clock.settle(world.relay.agents.getRun(caller, request));
}

t.test('a run queued during a hold starts without waiting for any timer', async (t) => {
  const world = await createWorld({ seed: 1, desktops: [{ runMs: () => 5 * SECOND }], networkMs: 20, diskMs: 3 });
  await world.clock.advance(7 * SECOND);
  const [desktop] = world.desktops as [WorldDesktop];
  const { id, at } = await queue(world, desktop);
  await world.clock.advance(SECOND);
  t.equal(desktop.happenings.length, 1);
  // Offer, ack and its answer: three trips of 20 ms, and before the answer the relay writes that it may run. The command
  // itself and the desktop's journal are written meanwhile.
  t.equal(desktop.happenings[0]!.startedAt - at, 63);
  await world.clock.advance(10 * SECOND);
  const run = await read(world, id);
  t.equal(run.status, 'completed');
  t.equal(run.timing.transport, 'long-poll');
  t.equal(run.timing.pickup_ms, 40, 'queued until the ack has reached the relay');
  t.same(run.result, { ran: 'graph-1.js', args: {} });
});

t.test('in plain mode the same run waits for the next 20 s tick', async (t) => {
  const world = await createWorld({
    seed: 1,
    desktops: [{ mode: 'plain', runMs: () => 5 * SECOND }],
    networkMs: 20,
  });
  const [desktop] = world.desktops as [WorldDesktop];
  // The world stands at 1 s, and the first tick was at 0.
  await world.clock.advance(6 * SECOND);
  const { id, at } = await queue(world, desktop);
  await world.clock.advance(12 * SECOND);
  t.equal(desktop.happenings.length, 0, 'nothing starts before the tick');
  t.equal((await read(world, id)).status, 'queued');
  await world.clock.advance(2 * SECOND);
  t.equal(desktop.happenings.length, 1);
  const waited = desktop.happenings[0]!.startedAt - at;
  t.ok(waited >= 13 * SECOND && waited < 13.2 * SECOND, `waited ${waited} ms`);
  await world.clock.advance(10 * SECOND);
  const run = await read(world, id);
  t.equal(run.status, 'completed');
  t.equal(run.timing.transport, 'plain');
});

const MODES: readonly ModeName[] = ['auto', 'websocket', 'plain'];

for (const mode of MODES) {
  t.test(`five runs at once go one after another, in order (${mode})`, async (t) => {
    const world = await createWorld({
      seed: 2,
      desktops: [{ mode, runMs: () => 10 * SECOND }],
      networkMs: 5,
      diskMs: 1,
    });
    const [desktop] = world.desktops as [WorldDesktop];
    const queued: string[] = [];
    for (let index = 0; index < 5; index++) queued.push((await queue(world, desktop)).id);
    await world.clock.advance(90 * SECOND);
    t.same(
      desktop.happenings.map(({ commandId }) => commandId),
      queued,
    );
    for (const [index, happening] of desktop.happenings.entries()) {
      const previous = desktop.happenings[index - 1];
      if (previous) t.ok(happening.startedAt >= previous.endedAt!, 'never two at once');
      t.equal(happening.status, 'completed');
    }
    for (const id of queued) t.equal((await read(world, id)).status, 'completed');
  });
}

t.test('the gap between two serial runs is three trips, not a timer', async (t) => {
  const world = await createWorld({ seed: 3, desktops: [{ runMs: () => 10 * SECOND }], networkMs: 20 });
  const [desktop] = world.desktops as [WorldDesktop];
  await queue(world, desktop);
  await queue(world, desktop);
  await world.clock.advance(30 * SECOND);
  const [first, second] = desktop.happenings;
  // Completion, offer, ack and its answer.
  t.equal(second!.startedAt - first!.endedAt!, 80);
});

t.test('a queued run is cancelled at once and never starts', async (t) => {
  const world = await createWorld({ seed: 4, desktops: [{ runMs: () => 10 * SECOND }], networkMs: 20 });
  const [desktop] = world.desktops as [WorldDesktop];
  const first = await queue(world, desktop);
  const second = await queue(world, desktop);
  await world.clock.advance(SECOND);
  const cancelled = await world.clock.settle(world.relay.agents.cancelRun(world.caller, { command_id: second.id }));
  t.equal(cancelled.status, 'cancelled');
  await world.clock.advance(60 * SECOND);
  t.same(
    desktop.happenings.map(({ commandId }) => commandId),
    [first.id],
  );
  t.equal((await read(world, second.id)).status, 'cancelled');
});

t.test('a running run is stopped within one trip and the time the engine takes', async (t) => {
  const world = await createWorld({
    seed: 5,
    desktops: [{ runMs: () => 600 * SECOND, stopMs: 500 }],
    networkMs: 20,
  });
  const [desktop] = world.desktops as [WorldDesktop];
  const { id } = await queue(world, desktop);
  await world.clock.advance(33 * SECOND);
  const before = world.clock.monotonic();
  const asked = await world.clock.settle(world.relay.agents.cancelRun(world.caller, { command_id: id }));
  t.equal(asked.status, 'running');
  t.equal(asked.cancel_requested, true);
  await world.clock.advance(2 * SECOND);
  t.equal(desktop.happenings[0]!.endedAt! - before, 20 + 500);
  t.equal((await read(world, id)).status, 'cancelled');
});

t.test('two desktops take their own runs at the same time', async (t) => {
  const world = await createWorld({
    seed: 6,
    desktops: [{ runMs: () => 10 * SECOND }, { runMs: () => 10 * SECOND }],
    networkMs: 20,
  });
  const [one, two] = world.desktops as [WorldDesktop, WorldDesktop];
  const { sessions } = await world.clock.settle(
    world.relay.agents.listSessions(world.caller, { project_id: world.projectId, limit: 50 }),
  );
  t.same(
    sessions.map(({ graph_session_id }) => graph_session_id).sort(),
    [one, two].map((d) => d.graphSessionId).sort(),
  );
  t.ok(sessions.every(({ desktop }) => desktop.online));
  const first = await queue(world, one);
  const second = await queue(world, two);
  await world.clock.advance(SECOND);
  t.equal(one.happenings[0]?.commandId, first.id);
  t.equal(two.happenings[0]?.commandId, second.id);
});

t.test("another agent's run cannot be told from one that never was", async (t) => {
  const world = await createWorld({ seed: 7, desktops: [{ runMs: () => SECOND }] });
  const [desktop] = world.desktops as [WorldDesktop];
  const { id } = await queue(world, desktop);
  const unknown = '00000000-0000-4000-8000-000000000000';
  for (const asked of [id, unknown]) {
    await t.rejects(read(world, asked, world.otherCaller), { message: 'Graph run not found or access removed' });
  }
});

t.test('a share that is withdrawn ends what waits, with the text of the contract', async (t) => {
  const world = await createWorld({ seed: 8, desktops: [{ runMs: () => 30 * SECOND }], networkMs: 20 });
  const [desktop] = world.desktops as [WorldDesktop];
  await queue(world, desktop);
  const waiting = await queue(world, desktop);
  await world.clock.advance(SECOND);
  await world.clock.settle(desktop.agent.sharing.unshare(world.projectId, desktop.graphSessionId));
  await world.clock.advance(SECOND);
  const run = await read(world, waiting.id);
  t.equal(run.status, 'cancelled');
  t.equal(run.error, 'Graph session is no longer shared with this project');
  await world.clock.advance(60 * SECOND);
  t.equal(desktop.happenings.length, 1);
});

t.test('an idle hour of holds costs hardly more requests than an hour of polling', async (t) => {
  const requestsPerHour: number[] = [];
  for (const mode of ['plain', 'long-poll'] as const) {
    const world = await createWorld({ seed: 9, desktops: [{ mode, runMs: () => SECOND }], networkMs: 20 });
    const [desktop] = world.desktops as [WorldDesktop];
    const before = desktop.requests();
    await world.clock.advance(3_600 * SECOND);
    requestsPerHour.push(desktop.requests() - before);
  }
  const [plain, held] = requestsPerHour as [number, number];
  t.equal(plain, 180);
  t.ok(held > plain && held < plain * 1.06, `${held} held requests`);
});

t.test('the same seed gives the same trace', async (t) => {
  const hashes = [];
  for (let repeat = 0; repeat < 2; repeat++) {
    const world = await createWorld({ seed: 10, desktops: [{ runMs: () => 7 * SECOND }], networkMs: 20, diskMs: 2 });
    await queue(world, world.desktops[0]!);
    await world.clock.advance(120 * SECOND);
    hashes.push(world.clock.traceHash());
  }
  t.equal(hashes[0], hashes[1]);
});
