/** Our whole desktop before a relay: a run that waits for its owner, as its agent sees it, in trips of the network. */
import t from 'tap';
import { createTimedEngine } from '../../bench/sim/timed-engine.ts';
import type { GraphRun } from '../../desktop-agent/ports.ts';
import { startWholeDesktop, TRIP_MS } from './desktop.ts';
import { createTestRelay, HOUR, readRun, SECOND, startRun } from './support.ts';

async function asking() {
  const world = await createTestRelay();
  const { clock } = world;
  const runs: GraphRun[] = [];
  const engine = () => createTimedEngine({ clock, runMs: () => HOUR, onStart: (run) => void runs.push(run) });
  const desktop = await startWholeDesktop(world, { engine });
  const { command_id: id } = await startRun(world);
  await clock.advance(7 * SECOND);
  const { onEvent } = runs[0]!;
  const asks = (approval: string, tool = 'files.write') =>
    onEvent({ type: 'approval_asked', approval, call: 1, tool, input: { secret: 'of the owner' } });
  const decided = (approval: string) =>
    onEvent({ type: 'approval_decided', approval, call: 1, tool: 'files.write', decision: 'deny', scope: 'call' });
  const seen = async () => (await readRun(world, id)).awaiting_approval;
  return { world, desktop, id, asks, decided, seen };
}

t.test('the caller sees it one trip after the owner was asked, and one trip after the owner has decided', async (t) => {
  const { world, asks, decided, seen } = await asking();
  const since = new Date(world.clock.now() + TRIP_MS).toISOString();
  asks('a');
  await world.clock.advance(TRIP_MS - 1);
  t.equal(await seen(), undefined);
  await world.clock.advance(1);
  t.strictSame(await seen(), { tool: 'files.write', since }, 'and nothing of the input');
  await world.clock.advance(10 * 60 * SECOND);
  t.strictSame(await seen(), { tool: 'files.write', since }, 'it keeps its date');
  decided('a');
  await world.clock.advance(TRIP_MS);
  t.equal(await seen(), undefined);
});

t.test('a question that was asked while the network was away is seen when it is back, with its own date', async (t) => {
  const { world, desktop, asks, decided, seen } = await asking();
  desktop.network = false;
  const askedAt = world.clock.now();
  asks('a');
  await world.clock.advance(90 * SECOND);
  t.equal(await seen(), undefined);
  desktop.network = true;
  await world.clock.advance(60 * SECOND);
  const since = Date.parse((await seen())?.since ?? '');
  t.ok(Math.abs(since - askedAt) <= TRIP_MS, `${since - askedAt} ms`);
  desktop.network = false;
  decided('a');
  await world.clock.advance(90 * SECOND);
  desktop.network = true;
  await world.clock.advance(60 * SECOND);
  t.equal(await seen(), undefined, 'and so is the answer');
});

t.test('a cancel stops a run that waits for its owner within a trip', async (t) => {
  const { world, id, asks } = await asking();
  asks('a');
  await world.clock.advance(30 * SECOND);
  await world.settle(world.relay.agents.cancelRun(world.agent, { command_id: id }));
  await world.clock.advance(2 * TRIP_MS);
  const run = await readRun(world, id);
  t.match(run, { status: 'cancelled' });
  t.notOk('awaiting_approval' in run);
});

t.test('a desktop that restarts asks nothing any more: the run has ended', async (t) => {
  const { world, desktop, id, asks } = await asking();
  asks('a');
  await world.clock.advance(SECOND);
  await desktop.reborn();
  await world.clock.advance(30 * SECOND);
  const run = await readRun(world, id);
  t.match(run, { status: 'failed' });
  t.notOk('awaiting_approval' in run);
});
