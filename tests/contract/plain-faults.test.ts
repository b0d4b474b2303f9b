/** A desktop of the plain contract has no journal and no ack, so the relay has to know for certain what it has let start. */
import t from 'tap';
import { createTestRelay, PROJECT, readRun, SECOND, session, startRun, uuid } from './support.ts';

const POLL = { project_id: PROJECT, sessions: [session(1)] };
const EXECUTION = 'x-run-01';

t.test(
  'a command is let start when its start is on disk, and a relay that dies then hands it out no more',
  async (t) => {
    const world = await createTestRelay({ diskMs: 50 });
    await world.settle(world.plain('sync', POLL));
    const { command_id } = await startRun(world);
    await world.settle(world.plain('sync', POLL));
    const asked = world.plain('control', { command_id, execution_id: EXECUTION });
    let answered = false;
    void asked.then(() => {
      answered = true;
    });
    await world.clock.advance(40);
    t.equal(answered, false, 'the disk still writes');
    t.strictSame((await world.settle(asked)).body, { cancel: false, reason: null });
    const next = await createTestRelay({ after: { image: world.crash(), of: world } });
    t.equal((await readRun(next, command_id)).status, 'running');
    await next.clock.advance(60 * SECOND);
    t.strictSame((await next.settle(next.plain('sync', POLL))).body, { commands: [] });
  },
);

t.test('a cancel that comes while the start is being written is in the answer', async (t) => {
  const world = await createTestRelay({ diskMs: 50 });
  await world.settle(world.plain('sync', POLL));
  const { command_id } = await startRun(world);
  await world.settle(world.plain('sync', POLL));
  const asked = world.plain('control', { command_id, execution_id: EXECUTION });
  await world.clock.advance(40);
  await world.settle(world.relay.agents.cancelRun(world.agent, { command_id }));
  t.strictSame((await world.settle(asked)).body, { cancel: true, reason: 'cancelled' });
});

t.test('a start that the disk refuses is not let through, and goes on when it heals', async (t) => {
  const world = await createTestRelay();
  await world.settle(world.plain('sync', POLL));
  const { command_id } = await startRun(world);
  await world.settle(world.plain('sync', POLL));
  world.refuseWrites('no space left on device');
  const ask = () => world.settle(world.plain('control', { command_id, execution_id: EXECUTION }));
  t.match(await ask(), { status: 503, body: { error: { code: 'store-unavailable' } } });
  t.match(await ask(), { status: 503 });
  world.refuseWrites(null);
  t.strictSame((await ask()).body, { cancel: false, reason: null });
});

t.test('a new start of a desktop while the disk refuses is told so, and the relay goes on', async (t) => {
  const world = await createTestRelay();
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on('unhandledRejection', note);
  t.teardown(() => process.off('unhandledRejection', note));
  world.refuseWrites('no space left on device');
  const poll = () => world.settle(world.plain('sync', { ...POLL, instance_id: uuid(1) }));
  t.match(await poll(), { status: 503, body: { error: { code: 'store-unavailable' } } });
  t.match(await poll(), { status: 503 }, 'and again, since its start is still not on disk');
  world.refuseWrites(null);
  t.equal((await poll()).status, 200);
  t.strictSame(unhandled, [], 'one of these ends the process');
});
