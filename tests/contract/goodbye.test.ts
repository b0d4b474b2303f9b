import t from 'tap';
import { startWholeDesktop } from './desktop.ts';
import { createTestRelay, readRun, SECOND, startRun } from './support.ts';

t.test('a desktop that quits with 50 runs queued takes no more, and all of them run once (C42)', async (t) => {
  const world = await createTestRelay();
  const desktop = await startWholeDesktop(world, { runMs: 2 * SECOND });
  const { started } = desktop;
  const queued: string[] = [];
  for (let n = 0; n < 50; n++) queued.push((await startRun(world)).command_id);
  await world.clock.advance(5 * SECOND);
  await world.settle(desktop.agent.drain(10 * SECOND));
  const before = started.length;
  t.ok(before >= 2 && before < 5, `${before} had run`);
  await world.clock.advance(60 * SECOND);
  t.equal(started.length, before, 'nothing is started after the goodbye');
  const waiting = await readRun(world, queued[before]!);
  t.match(waiting, { status: 'queued', desktop: { online: false, asleep: false } });
  await desktop.reborn();
  await world.clock.advance(200 * SECOND);
  t.strictSame(started, queued, 'each once, in order');
  for (const id of queued) t.equal((await readRun(world, id)).status, 'completed');
});
