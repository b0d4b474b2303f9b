/** Sleep, clock steps and new networks, as two clocks and a list of addresses show them. */
import t from 'tap';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { watchPath } from '../../desktop-agent/path-watch.ts';

const SECOND = 1_000;

function watched() {
  const clock = new VirtualClock();
  const seen: string[] = [];
  const world = { clock, seen, network: 'home', stop: () => {} };
  world.stop = watchPath(
    clock,
    () => world.network,
    (reason) => seen.push(reason),
  ).stop;
  return world;
}

t.test('an hour in which nothing happens says nothing', async (t) => {
  const { clock, seen } = watched();
  await clock.advance(3_600 * SECOND);
  t.same(seen, []);
});

t.test('a sleep is noticed at the first look after it, once', async (t) => {
  const { clock, seen } = watched();
  await clock.advance(25 * SECOND);
  clock.stepWall(4 * 3_600 * SECOND);
  await clock.advance(10 * SECOND);
  t.same(seen, ['woke']);
  await clock.advance(60 * SECOND);
  t.same(seen, ['woke']);
});

t.test('a clock that is set back is looked at like a sleep; small corrections are not (C19)', async (t) => {
  const { clock, seen } = watched();
  clock.stepWall(-600 * SECOND);
  await clock.advance(11 * SECOND);
  t.same(seen, ['woke']);
  for (let second = 0; second < 60; second++) {
    clock.stepWall(100);
    await clock.advance(SECOND);
  }
  t.same(seen, ['woke'], 'a time service that pulls the clock along is no sleep');
});

t.test('another network is noticed within one look, and a wake in another network is one event', async (t) => {
  const world = watched();
  world.network = 'train';
  await world.clock.advance(10 * SECOND);
  t.same(world.seen, ['network-changed']);
  world.clock.stepWall(3_600 * SECOND);
  world.network = 'office';
  await world.clock.advance(10 * SECOND);
  t.same(world.seen, ['network-changed', 'woke']);
  await world.clock.advance(30 * SECOND);
  t.equal(world.seen.length, 2);
});

t.test('after it was stopped it looks no more', async (t) => {
  const world = watched();
  world.stop();
  world.network = 'train';
  await world.clock.advance(60 * SECOND);
  t.same(world.seen, []);
});
