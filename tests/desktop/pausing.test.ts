/** A desktop that its owner has paused: nothing new begins, what runs goes on, and nothing is lost. */
import t from 'tap';
import { createWorld, type World } from '../../bench/sim/world.ts';
import { command, ids, restartDesktop, startDesktop } from './support.ts';

const SECOND = 1_000;

let keys = 0;

async function queue({ clock, relay, caller, desktops }: World) {
  const graph_session_id = desktops[0]!.graphSessionId;
  const idempotency_key = `a-key-of-its-own-${++keys}`;
  return clock.settle(relay.agents.runSession(caller, { graph_session_id, arguments: {}, idempotency_key }));
}

for (const mode of ['long-poll', 'websocket', 'plain'] as const) {
  t.test(
    `what runs goes on and is delivered, what is queued stays queued, until it is resumed (${mode})`,
    async (t) => {
      const world = await createWorld({ seed: 3, desktops: [{ mode, runMs: () => 30 * SECOND }], networkMs: 20 });
      const { clock, relay, caller } = world;
      const { agent, happenings } = world.desktops[0]!;
      const first = await queue(world);
      await clock.advance(21 * SECOND);
      const second = await queue(world);
      t.equal(happenings.length, 1, 'the first runs');

      t.equal(await clock.settle(agent.pausing.pause()), true);
      t.match(agent.snapshot(), { running: 1, paused_since: new Date(clock.now()).toISOString() });
      const third = await queue(world);
      await clock.advance(600 * SECOND);
      const { signal } = new AbortController();
      const statusOf = ({ command_id }: { command_id: string }) =>
        clock.settle(relay.agents.getRun(caller, { command_id, waitMs: 0, signal }));
      t.match(await statusOf(first), { status: 'completed' });
      t.match(await statusOf(second), { status: 'queued', desktop: { online: true } });
      t.match(await statusOf(third), { status: 'queued' });
      t.equal(happenings.length, 1);

      t.equal(await clock.settle(agent.pausing.resume()), true);
      await clock.advance(SECOND);
      t.equal(happenings.length, 2, 'at once, in every mode');
      await clock.advance(120 * SECOND);
      t.match(await statusOf(third), { status: 'completed' });
      t.same(
        ids(happenings.map((each) => ({ ...each, at: 0 }))),
        [first, second, third].map(({ command_id }) => command_id),
      );
    },
  );
}

t.test('a pause takes the held sync back, and the next one has no room', async (t) => {
  const { clock, relay, agent } = await startDesktop();
  await clock.advance(25 * SECOND);
  const before = relay.syncs.length;
  void agent.pausing.pause();
  await clock.advance(0);
  t.match(relay.syncs.slice(before), [{ capacity: 0, holding: [] }]);
  t.equal(await clock.settle(agent.pausing.pause()), false, 'it was so before');
  void agent.pausing.resume();
  await clock.advance(0);
  t.match(relay.syncs.slice(before + 1), [{ capacity: 1 }]);
});

t.test('an offer that was on its way is not begun, and not listed as held', async (t) => {
  const { clock, relay, ran, agent } = await startDesktop();
  await clock.advance(25 * SECOND);
  relay.onSync = async (_input, signal) => {
    // The answer leaves at the moment of the pause; it arrives although the request was taken back.
    await new Promise<void>((done) => signal.addEventListener('abort', () => done()));
    relay.onSync = async () => undefined;
    return relay.answer([command()]);
  };
  await clock.advance(20 * SECOND);
  void agent.pausing.pause();
  await clock.advance(60 * SECOND);
  t.equal(ran.length, 0);
  t.match(relay.syncs.at(-1), { capacity: 0, holding: [] });
});

t.test('what was accepted and not begun goes back to the relay', async (t) => {
  const { clock, relay, ran, agent } = await startDesktop({ mode: 'plain', runMs: 5 * SECOND });
  const [first, second] = [command(), command()];
  relay.offer(first, second);
  await clock.advance(21 * SECOND);
  t.same(ids(ran), [first.command_id]);
  void agent.pausing.pause();
  await clock.advance(60 * SECOND);
  t.same(ids(ran), [first.command_id]);
  t.same(
    relay.completions.map(({ command_id }) => command_id),
    [first.command_id],
  );
  t.match(relay.syncs.at(-1), { capacity: 0, holding: [] });
});

t.test('a pause outlasts a kill, and so does its end', async (t) => {
  const paused = await startDesktop();
  await paused.clock.settle(paused.agent.pausing.pause());
  const again = await restartDesktop(paused);
  again.relay.offer(command());
  await again.clock.advance(60 * SECOND);
  t.equal(again.ran.length, 0);
  t.ok(again.relay.syncs.slice(-2).every(({ capacity }) => capacity === 0));
  t.equal(again.agent.snapshot().paused_since, paused.agent.snapshot().paused_since);
  await again.clock.settle(again.agent.pausing.resume());
  await again.clock.advance(SECOND);
  t.equal(again.ran.length, 1);
  const third = await restartDesktop(again);
  t.equal(third.agent.snapshot().paused_since, null);
});
