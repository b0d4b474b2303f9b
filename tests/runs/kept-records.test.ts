/** Which records are kept. */
import t from 'tap';
import { FOLDER, historyWorld } from './support.ts';

t.test(
  'the oldest records go first, by number and by size, with their results, and never one that goes on',
  async (t) => {
    const world = await historyWorld({ runsKept: 3 });
    const long = JSON.stringify('x'.repeat(200_000));
    const going = world.start();
    const runs = [];
    for (let n = 0; n < 5; n += 1) runs.push(await world.play([], { resultJson: long }));
    const ids = async () => (await world.desk.list(20)).map(({ command_id }) => command_id);
    const kept = runs.slice(2).map(({ commandId }) => commandId);
    t.same(await ids(), [...kept.reverse(), going.commandId]);
    t.equal((await world.disk.list(FOLDER)).length, 3 * 2 + 1);

    const again = await historyWorld({ runsKept: 50, totalBytes: 500_000 }, world);
    await again.written();
    t.same((await again.desk.list(20)).length, 2, 'by size, at the start already');
    const tiny = await historyWorld({ totalBytes: 10 }, world);
    await tiny.written();
    t.same(
      (await tiny.desk.list(20)).map(({ command_id }) => command_id),
      [runs.at(-1)?.commandId],
      'the latest one is kept, however large it is',
    );
  },
);

t.test('records of other processes count too', async (t) => {
  const world = await historyWorld({ runsKept: 3 });
  await world.play();
  const other = await historyWorld({}, world);
  for (let n = 0; n < 4; n += 1) await other.play();
  t.equal((await world.desk.list(20)).length, 5);
  const last = await world.play();
  const left = await world.desk.list(20);
  t.equal(left.length, 3);
  t.equal(left[0]?.command_id, last.commandId);
});
