/** Cancels and dropped calls at every moment: a run is whole or not there, and a cancel is never undone. */
import t from 'tap';
import { createWorld } from '../../bench/sim/world.ts';
import type { RunOutcome } from '../../desktop-agent/ports.ts';
import type { CommandRow } from '../../server/rows.ts';
import { startWholeDesktop } from './desktop.ts';
import { createTestRelay, readRun, SECOND, session, startRun, syncInput, type TestRelay, uuid } from './support.ts';

const TRIP_MS = 20;
const DISK_MS = 5;
/** Further than the offer, the ack and the start together, which take three trips and a write. */
const LAST_MOMENT_MS = 5 * TRIP_MS;

t.test(
  'a cancel at any moment between offer and first sign of life stays, and reaches what has begun (C30, C35, C47, C50)',
  async (t) => {
    const seen = { neverStarted: 0, stopped: 0 };
    for (let atMs = 0; atMs <= LAST_MOMENT_MS; atMs += 1) {
      const options = { seed: 47, desktops: [{ runMs: () => 60 * SECOND }], networkMs: TRIP_MS, diskMs: DISK_MS };
      const { clock, relay, desktops, caller } = await createWorld(options);
      const [{ happenings, graphSessionId, agent }] = desktops as [(typeof desktops)[0]];
      const start = (key: string) =>
        relay.agents.runSession(caller, { graph_session_id: graphSessionId, arguments: {}, idempotency_key: key });
      const { command_id } = await clock.settle(start('the-cancelled-one'));
      const { command_id: next } = await clock.settle(start('the-one-behind-it'));
      await clock.advance(atMs);
      const before = clock.monotonic();
      await clock.settle(relay.agents.cancelRun(caller, { command_id }));
      await clock.advance(10 * SECOND);
      const signal = new AbortController().signal;
      const read = (id: string) => clock.settle(relay.agents.getRun(caller, { command_id: id, waitMs: 0, signal }));
      const run = await read(command_id);
      if (run.status !== 'cancelled') t.fail(`${run.status} after a cancel at ${atMs} ms`);
      const started = happenings.filter(({ commandId }) => commandId === command_id);
      if (started.length === 0) seen.neverStarted++;
      else {
        seen.stopped++;
        const [{ status, endedAt }] = started as [(typeof started)[0]];
        // The trip of the stop, and the trip and write of an ack that may still be on its way.
        if (status !== 'cancelled' || endedAt! - before > 3 * TRIP_MS + 2 * DISK_MS) {
          t.fail(`${status} ${endedAt! - before} ms after a cancel at ${atMs} ms`);
        }
      }
      if ((await read(next)).status !== 'running') t.fail(`the next run is ${(await read(next)).status} (${atMs} ms)`);
      if (!agent.snapshot().connected) t.fail(`the desktop has gone (${atMs} ms)`);
    }
    t.ok(seen.neverStarted > 10 && seen.stopped > 10, `both were met: ${JSON.stringify(seen)}`);
  },
);

t.test(
  'a success that a desktop reports though it was told to stop leaves the run cancelled, for good (C44)',
  async (t) => {
    const world = await createTestRelay();
    const { promise: done, resolve: finish } = Promise.withResolvers<RunOutcome>();
    let told = 0;
    const desktop = await startWholeDesktop(world, {
      engine: ({ started }) => ({
        start({ commandId }) {
          started.push(commandId);
          return { done, cancel: () => void told++ };
        },
        close: async () => {},
      }),
    });
    const { command_id } = await startRun(world);
    await world.clock.advance(10 * SECOND);
    await world.settle(world.relay.agents.cancelRun(world.agent, { command_id }));
    await world.clock.advance(SECOND);
    t.equal(told, 1, 'the stop has reached the Graph, which does not care');
    t.match(await readRun(world, command_id), { status: 'running', cancel_requested: true });
    await world.clock.advance(30 * SECOND);
    finish({ status: 'completed', resultJson: '"done anyway"', error: null, totalTokens: 5, reportedCost: null });
    await world.clock.advance(SECOND);
    t.match(desktop.agent.snapshot().outbox, { pending: 0, refused: [] }, 'the report was taken');
    const run = await readRun(world, command_id);
    t.match(run, { status: 'cancelled', total_tokens: 5 });
    t.notOk('result' in run);
    const after = await createTestRelay({ after: { image: world.crash(), of: world } });
    t.equal((await readRun(after, command_id)).status, 'cancelled', 'over a restart, too');
  },
);

/** Calls a tool over the MCP endpoint and goes away after so long. */
async function abandonedCall(world: TestRelay, call: { name: string; arguments: object }, afterMs: number) {
  const caller = new AbortController();
  world.clock.after(afterMs, () => caller.abort());
  const request = new Request('http://relay.test/mcp', {
    method: 'POST',
    headers: {
      authorization: `Bearer ${world.agentToken}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }),
    signal: caller.signal,
  });
  await world.settle(world.relay.fetch(request).catch(() => null));
}

function rowsOf(world: TestRelay): CommandRow[] {
  const tables = new Map(world.crash().tables as unknown as [string, [string, CommandRow][]][]);
  return (tables.get('command') ?? []).map(([, row]) => row);
}

t.test('a start that is abandoned at any moment is a whole run or none, and its key finds it (C104)', async (t) => {
  const whole = Object.keys(rowsOf(await withOneRun())[0]!).sort();
  const seen = { none: 0, one: 0 };
  for (let afterMs = 0; afterMs <= DISK_MS + 2; afterMs++) {
    for (const killed of [true, false]) {
      const world = await createTestRelay({ diskMs: DISK_MS });
      await world.settle(world.trpc('sync', syncInput({ capacity: 0 })));
      await world.clock.advance(SECOND);
      const run = {
        graph_session_id: session(1).graph_session_id,
        idempotency_key: 'the-only-key',
        arguments: { a: 1 },
      };
      await abandonedCall(world, { name: 'run_graph_session', arguments: run }, afterMs);
      const after = killed ? await createTestRelay({ after: { image: world.crash(), of: world } }) : world;
      const ticket = await startRun(after, { key: run.idempotency_key, arguments: run.arguments });
      const rows = rowsOf(after);
      t.equal(rows.length, 1, 'one run for the key');
      t.same(Object.keys(rows[0]!).sort(), whole, 'never half a record');
      t.match(rows[0], { commandId: ticket.command_id, status: 'queued', arguments: { a: 1 } });
      if (!killed) t.equal(ticket.replayed, true, `the relay had the start that was abandoned after ${afterMs} ms`);
      else if (ticket.replayed) seen.one++;
      else seen.none++;
    }
  }
  t.ok(seen.none > 0 && seen.one > 0, `both were met: ${JSON.stringify(seen)}`);
});

async function withOneRun(): Promise<TestRelay> {
  const world = await createTestRelay();
  await world.settle(world.trpc('sync', syncInput({ capacity: 0 })));
  await startRun(world);
  return world;
}

t.test('a cancel that is abandoned at any moment has happened or not, and may be repeated (C104)', async (t) => {
  for (const goesOn of [false, true]) {
    for (let afterMs = 0; afterMs <= DISK_MS + 2; afterMs++) {
      const world = await createTestRelay({ diskMs: DISK_MS });
      await world.settle(world.trpc('sync', syncInput({ capacity: 0 })));
      const { command_id } = await startRun(world);
      const control = { command_id, execution_id: uuid(7), phase: 'starting', hold_ms: 0 };
      if (goesOn) await world.settle(world.trpc('control', control));
      await world.clock.advance(SECOND);
      await abandonedCall(world, { name: 'cancel_graph_run', arguments: { command_id } }, afterMs);
      const [row] = rowsOf(world);
      const asked = row!.cancelRequestedAt !== null;
      if (goesOn) t.equal(row!.status, 'running', `after ${afterMs} ms`);
      else t.equal(row!.status, asked ? 'cancelled' : 'queued', `after ${afterMs} ms`);
      const killed = await createTestRelay({ after: { image: world.crash(), of: world } });
      const again = await killed.settle(killed.relay.agents.cancelRun(killed.agent, { command_id }));
      t.match(again, { cancel_requested: true, status: goesOn ? 'running' : 'cancelled' });
    }
  }
});
