import t from 'tap';
import { KEY_RETENTION_MS, RUN_RETENTION_MS } from '../../protocol/limits.ts';
import { createTestRelay, DAY, HOUR, readRun, SECOND, startRun, syncInput, type TestRelay, uuid } from './support.ts';

const GONE = { message: 'Graph run not found or access removed' };

async function shared(options: Parameters<typeof createTestRelay>[0] = {}): Promise<TestRelay> {
  const world = await createTestRelay(options);
  await world.settle(world.trpc('sync', syncInput({ capacity: 0 })));
  return world;
}

/** A run with a result. */
async function completed(world: TestRelay, key?: string): Promise<string> {
  const { command_id } = await startRun(world, key === undefined ? {} : { key });
  const completion = { command_id, execution_id: uuid(7), status: 'completed', result: { of: command_id } };
  await world.settle(world.trpc('complete', completion));
  return command_id;
}

t.test('a finished run is kept for 30 days with its key and result, and then is as one that never was', async (t) => {
  const world = await shared();
  const command_id = await completed(world, 'the-key-of-it');
  await world.clock.advance(RUN_RETENTION_MS - HOUR);
  t.match(await readRun(world, command_id), { status: 'completed', result: { of: command_id } });
  t.match(await startRun(world, { key: 'the-key-of-it' }), { command_id, replayed: true, status: 'completed' });
  await world.clock.advance(HOUR + SECOND);
  await t.rejects(readRun(world, command_id), GONE);
  const again = await startRun(world, { key: 'the-key-of-it' });
  t.equal(again.replayed, false, 'afterwards the key starts a new run');
  t.not(again.command_id, command_id);
});

t.test('a run that has not ended is never pruned, however old', async (t) => {
  const world = await shared({ limits: { runRetentionMs: HOUR, keyRetentionMs: HOUR, runsKept: 0 } });
  const { command_id } = await startRun(world);
  const finished = await completed(world);
  const control = { command_id, execution_id: uuid(7), phase: 'starting', hold_ms: 0 };
  await world.settle(world.trpc('control', control));
  for (let minutes = 0; minutes < 180; minutes += 10) {
    await world.clock.advance(HOUR / 6);
    await world.settle(world.trpc('control', { ...control, phase: 'running' }));
  }
  t.equal((await readRun(world, command_id)).status, 'running');
  await t.rejects(readRun(world, finished), GONE);
});

t.test('beyond the count the oldest go, but no key before its published time', async (t) => {
  const world = await shared({ limits: { runsKept: 5 } });
  const ids: string[] = [];
  for (let n = 0; n < 8; n++) ids.push(await completed(world, `key-number-${n}`));
  await world.clock.advance(KEY_RETENTION_MS - SECOND);
  t.match(await startRun(world, { key: 'key-number-0' }), { command_id: ids[0], replayed: true });
  await world.clock.advance(10 * SECOND);
  for (const id of ids.slice(0, 3)) await t.rejects(readRun(world, id), GONE);
  for (const id of ids.slice(3)) t.match(await readRun(world, id), { result: { of: id } });
  await world.clock.advance(DAY);
  t.match(await readRun(world, ids[3]!), { status: 'completed' }, 'the last five stay');
});

t.test('keys and pruning survive a kill (C127)', async (t) => {
  const before = await shared({ limits: { runsKept: 1 } });
  const old = await completed(before, 'key-of-the-old');
  await before.clock.advance(DAY / 2);
  const newer = await completed(before, 'key-of-the-newer');
  const world = await createTestRelay({ limits: { runsKept: 1 }, after: { image: before.crash(), of: before } });
  t.match(await startRun(world, { key: 'key-of-the-old' }), { command_id: old, replayed: true, status: 'completed' });
  await world.clock.advance(DAY / 2 + SECOND);
  await t.rejects(readRun(world, old), GONE);
  t.match(await readRun(world, newer), { result: { of: newer } });
  const third = await createTestRelay({ after: { image: world.crash(), of: world } });
  await t.rejects(readRun(third, old), GONE, 'gone from the disk too');
});

t.test('a backlog goes in small commits with pauses between them', async (t) => {
  const lines: number[] = [];
  const log = {
    debug() {},
    warn() {},
    error() {},
    info(event: string, fields: Record<string, unknown> = {}) {
      if (event === 'runs.pruned') lines.push(fields.count as number);
    },
  };
  const world = await shared({ log });
  const { agents } = world.relay;
  for (let n = 0; n < 1_000; n++) {
    const { command_id } = await startRun(world);
    await agents.cancelRun(world.agent, { command_id });
  }
  const hours = RUN_RETENTION_MS / HOUR;
  for (let hour = 0; hour < hours; hour++) await world.clock.advance(HOUR);
  t.strictSame(lines.slice(0, 1), [50]);
  await world.clock.advance(5 * SECOND);
  t.ok(lines.length <= 8, `${lines.length} commits in the first seconds`);
  // Runs that end meanwhile do not speed it up.
  for (let n = 0; n < 20; n++) await agents.cancelRun(world.agent, await startRun(world));
  await world.clock.advance(1);
  t.ok(lines.length <= 8, `${lines.length} commits in the first seconds`);
  await world.clock.advance(60 * SECOND);
  t.equal(
    lines.reduce((sum, count) => sum + count, 0),
    1_000,
  );
  t.ok(lines.every((count) => count <= 50));
});
