/** Stopping: nothing new is taken, what runs may finish, what has ended is delivered. */
import t from 'tap';
import { command, ids, restartDesktop, startDesktop } from './support.ts';

const GRACE = 60_000;

t.test('a desktop that drains takes its held sync back and takes nothing new (C42)', async (t) => {
  const { clock, relay, agent, ran, ended } = await startDesktop();
  await clock.advance(5_000);
  const syncs = relay.syncs.length;
  await clock.settle(agent.drain(GRACE));
  t.equal(await ended, 'stopped');
  relay.offer(command());
  await clock.advance(120_000);
  t.equal(relay.syncs.length, syncs + 1, 'one more, to say goodbye');
  t.match(relay.syncs.at(-1), { capacity: 0, hold_ms: 0, leaving: 'stopping' });
  t.equal(ran.length, 0);
});

t.test('what runs may finish while the desktop drains, keeps its lease, and is delivered (C53)', async (t) => {
  const { clock, relay, agent, ran } = await startDesktop({ runMs: 50_000 });
  relay.offer(command());
  await clock.advance(5_000);
  const drained = agent.drain(GRACE);
  await clock.advance(40_000);
  const controls = relay.controls.filter(({ phase, at }) => phase === 'running' && at > 5_000);
  t.ok(controls.length >= 2, 'it goes on asking, which is its sign of life');
  await clock.settle(drained);
  t.equal(ran[0]?.status, 'completed');
  t.match(relay.completions, [{ status: 'completed' }]);
  t.equal(clock.monotonic(), 50_000, 'the drain ends with the run and not with its grace');
});

t.test('what takes longer than the grace is stopped, and that is delivered too', async (t) => {
  const { clock, relay, agent } = await startDesktop({ runMs: 600_000 });
  relay.offer(command());
  await clock.advance(5_000);
  await clock.settle(agent.drain(10_000));
  t.equal(clock.monotonic(), 15_000);
  t.match(relay.completions, [{ status: 'cancelled', error: 'The desktop was stopped during the run.' }]);
});

t.test('what was taken and not begun is left to the relay, which offers it again (C42)', async (t) => {
  const desktop = await startDesktop({ mode: 'plain', runMs: 5_000 });
  const offered = Array.from({ length: 50 }, () => command());
  desktop.relay.offer(...offered);
  await desktop.clock.advance(27_000);
  t.equal(desktop.ran.length, 2);
  await desktop.clock.settle(desktop.agent.drain(GRACE));
  t.equal(desktop.ran.length, 2, 'the one that ran has finished, and no other one began');
  const reborn = await restartDesktop(desktop);
  reborn.relay.offer(...offered);
  await reborn.clock.advance(600_000);
  t.same(
    ids(reborn.ran),
    offered.map(({ command_id }) => command_id),
    'all fifty, once each, in order',
  );
  t.same(
    reborn.relay.completions.map((c) => c.command_id),
    ids(reborn.ran),
  );
});

t.test('a drain waits for a completion that is on its way', async (t) => {
  const { clock, relay, agent } = await startDesktop();
  const arrives = Promise.withResolvers<undefined>();
  relay.onComplete = () => arrives.promise;
  relay.offer(command());
  await clock.advance(2_000);
  let drained = false;
  void agent.drain(GRACE).then(() => {
    drained = true;
  });
  await clock.advance(1_000);
  t.equal(drained, false);
  arrives.resolve(undefined);
  await clock.advance(0);
  t.equal(drained, true);
  t.equal(agent.snapshot().outbox.pending, 0);
});

t.test('a drain does not hang on a relay that is gone: what is left stays on disk', async (t) => {
  const desktop = await startDesktop();
  desktop.relay.onComplete = async () => {
    throw new Error('no network');
  };
  desktop.relay.offer(command());
  await desktop.clock.advance(2_000);
  await desktop.clock.settle(desktop.agent.drain(GRACE));
  const posts = desktop.relay.completions.length;
  await desktop.clock.advance(120_000);
  t.equal(desktop.relay.completions.length, posts, 'and nothing is posted by a desktop that has stopped');
  desktop.relay.onComplete = async () => undefined;
  const reborn = await restartDesktop(desktop);
  await reborn.clock.advance(1_000);
  t.equal(reborn.agent.snapshot().outbox.pending, 0);
});

t.test(
  'an ack that has no answer keeps a desktop from stopping for a second, and is settled by the next start',
  async (t) => {
    const desktop = await startDesktop();
    const { clock, relay, agent, ran } = desktop;
    const offered = command();
    relay.onControl = async ({ command_id }, signal) => {
      if (command_id === offered.command_id) await aborted(signal);
      return undefined;
    };
    relay.offer(offered);
    await clock.advance(1_000);
    await clock.settle(agent.drain(GRACE));
    t.equal(clock.monotonic(), 2_000);
    t.equal(ran.length, 0);
    relay.onControl = async ({ phase }) => (phase === 'running' ? { cancel: true, reason: 'not-started' } : undefined);
    const reborn = await restartDesktop(desktop);
    await clock.advance(1_000);
    relay.onControl = async () => undefined;
    relay.offer(offered);
    await clock.advance(5_000);
    t.same(ids(reborn.ran), [offered.command_id], 'the relay had not let it start, so it runs');
    t.match(relay.completions, [{ status: 'completed' }]);
  },
);

t.test('an ack that is answered while the desktop stops is kept to: what may run, runs and is reported', async (t) => {
  const { clock, relay, agent, ran } = await startDesktop({ runMs: 3_000 });
  const answer = Promise.withResolvers<undefined>();
  relay.onControl = ({ phase }) => (phase === 'starting' ? answer.promise : Promise.resolve(undefined));
  const offered = command();
  relay.offer(offered);
  await clock.advance(1_000);
  const drained = agent.drain(GRACE);
  await clock.advance(500);
  answer.resolve(undefined);
  await clock.settle(drained);
  t.match(ran, [{ commandId: offered.command_id, status: 'completed' }]);
  t.match(relay.completions, [{ status: 'completed' }]);
});

/** What a fetch does that is never answered: it fails when it is taken back. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('taken back'))));
}
