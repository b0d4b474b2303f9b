/** Kills between any two steps: what was begun is never run again, and what has ended is delivered. */
import t from 'tap';
import type { MemoryImage } from '../../protocol/host/state/memory-state.ts';
import { RESTARTED_DURING_RUN } from '../../protocol/texts.ts';
import { command, ids, restartDesktop, startDesktop } from './support.ts';

type Rows = [string, Record<string, unknown>][];

function tableOf(image: MemoryImage, table: string): Rows {
  return new Map(image.tables as unknown as [string, Rows][]).get(table) ?? [];
}

t.test(
  'a run that a kill interrupted is completed as failed, with the text of the contract, and never run again',
  async (t) => {
    const desktop = await startDesktop({ runMs: 60_000 });
    const offered = command();
    desktop.relay.offer(offered);
    await desktop.clock.advance(10_000);
    const { execution_id } = desktop.relay.acks(offered.command_id)[0]!;
    const reborn = await restartDesktop(desktop);
    reborn.relay.offer(offered);
    await reborn.clock.advance(60_000);
    t.same(ids(reborn.ran), [offered.command_id]);
    const reports = reborn.relay.completions;
    t.match(reports, [{ command_id: offered.command_id, execution_id, status: 'failed', error: RESTARTED_DURING_RUN }]);
    t.equal(reports.length, 1);
  },
);

t.test('the instance that comes back holds what it has not delivered yet', async (t) => {
  const desktop = await startDesktop({ runMs: 60_000 });
  const offered = command();
  desktop.relay.onComplete = () => new Promise(() => {});
  desktop.relay.offer(offered);
  await desktop.clock.advance(10_000);
  const before = desktop.relay.syncs.length;
  const reborn = await restartDesktop(desktop);
  t.same(reborn.relay.syncs[before]?.holding, [offered.command_id], 'in its first sync already');
  t.not(reborn.relay.syncs[before]?.instance_id, reborn.relay.syncs[0]?.instance_id);
});

t.test('a second kill before the report changes nothing', async (t) => {
  const desktop = await startDesktop({ runMs: 60_000 });
  const offered = command();
  desktop.relay.onComplete = () => new Promise(() => {});
  desktop.relay.offer(offered);
  await desktop.clock.advance(10_000);
  const second = await restartDesktop(await restartDesktop(desktop));
  second.relay.onComplete = async () => undefined;
  const third = await restartDesktop(second);
  await third.clock.advance(1_000);
  t.match(third.relay.completions.at(-1), { command_id: offered.command_id, error: RESTARTED_DURING_RUN });
  t.equal(third.ran.length, 1);
  t.same(third.agent.snapshot().holding, []);
});

t.test('a run that ended right before the kill is delivered as it ended', async (t) => {
  const desktop = await startDesktop({ runMs: 1_000 });
  const offered = command({ arguments: { n: 1 } });
  desktop.relay.onComplete = () => new Promise(() => {});
  desktop.relay.offer(offered);
  await desktop.clock.advance(2_000);
  desktop.relay.onComplete = async () => undefined;
  const reborn = await restartDesktop(desktop);
  await reborn.clock.advance(1_000);
  const [first, second] = reborn.relay.completions;
  t.same({ ...second, at: 0, capacity: 0 }, { ...first, at: 0, capacity: 0 }, 'the same completion, to the letter');
  t.equal(second?.status, 'completed');
  t.equal(reborn.ran.length, 1);
});

t.test('a kill before it was on disk that a run begins loses nothing: it runs when it is offered again', async (t) => {
  const desktop = await startDesktop({ syncDelayMs: 50 });
  const offered = command();
  desktop.relay.offer(offered);
  await desktop.clock.advance(30);
  const reborn = await restartDesktop(desktop);
  t.equal(reborn.ran.length, 0);
  reborn.relay.offer(offered);
  await reborn.clock.advance(5_000);
  t.same(ids(reborn.ran), [offered.command_id]);
  t.match(reborn.relay.completions, [{ status: 'completed' }]);
});

t.test('a completion is on disk before it is posted', async (t) => {
  const desktop = await startDesktop({ syncDelayMs: 50, runMs: 1_000 });
  const offered = command();
  const seen: Rows[] = [];
  desktop.relay.onComplete = (input) => {
    const image = desktop.store.crash();
    seen.push(tableOf(image, 'outbox'));
    t.match(tableOf(image, 'execution'), [[offered.command_id, { phase: 'finished' }]]);
    t.match(seen[0], [[input.execution_id, { completion: { status: 'completed' }, refused: null }]]);
    return new Promise(() => {});
  };
  desktop.relay.offer(offered);
  await desktop.clock.advance(5_000);
  t.equal(seen.length, 1);
  t.equal(desktop.relay.completions[0]!.at - desktop.ran[0]!.endedAt!, 50, 'and right after that');
});

t.test('a completion that the disk refuses is not posted before the disk has it', async (t) => {
  const desktop = await startDesktop({ runMs: 1_000 });
  desktop.relay.offer(command());
  await desktop.clock.advance(500);
  desktop.store.failWrites('no space left on device');
  await desktop.clock.advance(30_000);
  t.equal(desktop.ran[0]?.status, 'completed');
  t.equal(desktop.relay.completions.length, 0);
  t.ok(desktop.lines.some(({ event }) => event === 'outbox.not-written'));
  desktop.store.failWrites(null);
  await desktop.clock.advance(30_000);
  t.equal(desktop.relay.completions.length, 1);
});

t.test('a run that cannot be written down as begun does not run, and its caller hears of it', async (t) => {
  const desktop = await startDesktop();
  const offered = command();
  desktop.store.failWrites('no space left on device');
  desktop.relay.offer(offered);
  await desktop.clock.advance(5_000);
  t.equal(desktop.ran.length, 0);
  desktop.store.failWrites(null);
  await desktop.clock.advance(30_000);
  t.equal(desktop.ran.length, 0);
  t.match(desktop.relay.completions, [{ command_id: offered.command_id, status: 'failed', error: /could not run/ }]);
});

t.test(
  'a delivered completion is not posted again after a kill, and a kill before its removal does no harm (C54)',
  async (t) => {
    const desktop = await startDesktop({ syncDelayMs: 50, runMs: 1_000 });
    desktop.relay.offer(command());
    // Acked, begun (50 ms), run, written (50 ms), posted: the removal is not on disk yet.
    await desktop.clock.advance(1_110);
    t.equal(desktop.relay.completions.length, 1);
    desktop.relay.onComplete = async () => ({ stored: true, already: true, sync_raised: false });
    const reborn = await restartDesktop(desktop);
    await reborn.clock.advance(1_000);
    t.equal(reborn.relay.completions.length, 2, 'posted once more, since nobody knows');
    const again = await restartDesktop(reborn);
    await again.clock.advance(60_000);
    t.equal(again.relay.completions.length, 2);
    t.same(again.agent.snapshot().outbox, { pending: 0, refused: [] });
    t.equal(again.ran.length, 1);
  },
);

t.test('nothing is shared by default, and what is shared survives a kill', async (t) => {
  const bare = await startDesktop({ shared: false });
  t.same(bare.relay.syncs[0]?.projects, []);
  const desktop = await startDesktop();
  const before = desktop.relay.syncs.length;
  const reborn = await restartDesktop(desktop);
  t.same(reborn.relay.syncs[before]?.projects, desktop.relay.syncs[0]?.projects);
  t.equal(reborn.relay.syncs[before]?.projects[0]?.sessions.length, 1);
});
t.test('a kill between the ack and its answer loses nothing when the relay had not let the run start', async (t) => {
  const desktop = await startDesktop();
  const offered = command();
  desktop.relay.onControl = ({ phase }, signal) =>
    phase === 'starting' ? taken(signal) : Promise.resolve({ cancel: true, reason: 'not-started' });
  desktop.relay.offer(offered);
  await desktop.clock.advance(500);
  const before = desktop.relay.syncs.length;
  const reborn = await restartDesktop(desktop);
  t.same(desktop.relay.syncs[before]?.holding, [offered.command_id], 'nobody else gets it while it is in doubt');
  reborn.relay.onControl = async () => undefined;
  await reborn.clock.advance(1_000);
  t.same(reborn.relay.syncs.at(-1)?.holding, [], 'the relay hears at once that it may offer it again');
  reborn.relay.offer(offered);
  await reborn.clock.advance(5_000);
  t.same(ids(reborn.ran), [offered.command_id]);
  t.match(reborn.relay.completions, [{ status: 'completed' }]);
});

t.test('what became of an interrupted run is asked until the relay answers, and not run meanwhile', async (t) => {
  const desktop = await startDesktop();
  const offered = command();
  desktop.relay.onControl = (_, signal) => taken(signal);
  desktop.relay.offer(offered);
  await desktop.clock.advance(500);
  desktop.relay.onControl = async () => {
    throw new Error('no network');
  };
  const reborn = await restartDesktop(desktop);
  reborn.relay.offer(offered);
  await reborn.clock.advance(60_000);
  t.equal(reborn.ran.length, 0);
  t.same(reborn.agent.snapshot().holding, [offered.command_id]);
  reborn.relay.onControl = async () => ({ cancel: true, reason: 'cancelled' });
  await reborn.clock.advance(60_000);
  t.match(reborn.relay.completions, [{ command_id: offered.command_id, status: 'cancelled' }]);
});

t.test('a desktop names the starts before it until it has an answer, the latest first, and not for ever', async (t) => {
  let desktop = await startDesktop();
  await desktop.clock.advance(1);
  const own: string[] = [];
  for (let start = 0; start < 12; start++) {
    own.unshift(desktop.relay.syncs.at(-1)!.instance_id);
    await desktop.clock.advance(1_000);
    desktop = await restartDesktop(desktop);
  }
  const last = desktop.relay.syncs.filter(({ instance_id }) => !own.includes(instance_id));
  t.same(last[0]?.predecessors, own.slice(0, 8));
  t.ok(last.length > 1);
  t.notOk(last.slice(1).some((sync) => 'predecessors' in sync));
  t.equal(desktop.store.rows('instance').size, 9);
});

/** What a fetch does that is never answered: it fails when it is taken back. */
function taken(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('taken back'))));
}
