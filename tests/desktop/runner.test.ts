/** From an offer to a run: the ack, consent, and that no command ever runs twice. */
import t from 'tap';
import { RelayError } from '../../protocol/errors.ts';
import type { ControlAnswer } from '../../protocol/schemas.ts';
import { NOT_SHARED } from '../../protocol/texts.ts';
import { command, ids, localSession, PROJECT, restartDesktop, SESSION, startDesktop } from './support.ts';

t.test('an offered command is acked, run and completed, once each', async (t) => {
  const { clock, relay, ran } = await startDesktop();
  const offered = command({ arguments: { a: 1 } });
  relay.offer(offered);
  await clock.advance(5_000);
  t.same(ids(ran), [offered.command_id]);
  t.equal(relay.acks(offered.command_id).length, 1);
  const { execution_id } = relay.acks(offered.command_id)[0]!;
  t.match(relay.completions, [{ command_id: offered.command_id, execution_id, status: 'completed' }]);
  t.same(relay.completions[0]?.result, { ran: 'hello.js', args: { a: 1 } });
  t.equal(relay.completions.length, 1);
});

t.test('a command that is offered again runs once: while it waits, runs, and after it has ended', async (t) => {
  const { clock, relay, ran } = await startDesktop({ runMs: 3_000 });
  const [first, second] = [command(), command()];
  // More than fits, twice over: a relay that errs must do no harm.
  relay.onSync = async (input) => {
    const asked = input.hold_ms > 0 && relay.syncs.length < 12;
    return asked ? relay.answer([first, second, first, second], 20_000) : undefined;
  };
  relay.offer(first);
  await clock.advance(60_000);
  t.same(ids(ran), [first.command_id, second.command_id]);
  t.equal(relay.completions.length, 2);
});

t.test('a command that has run is not run again after a restart', async (t) => {
  const desktop = await startDesktop();
  const offered = command();
  desktop.relay.offer(offered);
  await desktop.clock.advance(5_000);
  const reborn = await restartDesktop(desktop);
  reborn.relay.offer(offered);
  await reborn.clock.advance(60_000);
  t.same(ids(reborn.ran), [offered.command_id]);
  t.equal(reborn.relay.acks(offered.command_id).length, 1, 'nor is it asked for');
});

t.test(
  'an ack that says do not run runs nothing, is confirmed, and the next command comes (C30, C35, C50)',
  async (t) => {
    const { clock, relay, ran, agent } = await startDesktop();
    const [refused, next] = [command(), command()];
    relay.onControl = async (input) =>
      input.command_id === refused.command_id ? { cancel: true, reason: 'cancelled' } : undefined;
    relay.offer(refused, next);
    await clock.advance(10);
    t.same(ids(ran), [next.command_id]);
    await clock.advance(5_000);
    t.same(
      relay.completions.map((c) => [c.command_id, c.status]),
      [
        [refused.command_id, 'cancelled'],
        [next.command_id, 'completed'],
      ],
      'the relay may have started it for an ack whose answer was lost',
    );
    t.same(agent.snapshot().holding, []);
    t.equal(agent.snapshot().connected, true);
  },
);

for (const code of ['unknown-command', 'execution-refused', 'invalid-input'] as const) {
  t.test(`an ack that is refused with ${code} drops just that run (C30)`, async (t) => {
    const { clock, relay, ran } = await startDesktop();
    const [gone, next] = [command(), command()];
    relay.onControl = async (input) => {
      if (input.command_id === gone.command_id) throw new RelayError(code, 'gone');
      return undefined;
    };
    relay.offer(gone, next);
    await clock.advance(5_000);
    t.same(ids(ran), [next.command_id]);
    t.equal(relay.acks(gone.command_id).length, 1);
  });
}

t.test('an ack without an answer is asked again, and nothing runs before there is one (C29)', async (t) => {
  const { clock, relay, ran } = await startDesktop();
  const offered = command();
  let failures = 4;
  relay.onControl = async (input) => {
    if (input.command_id === offered.command_id && failures-- > 0) throw new RelayError('unreachable', 'no network');
    return undefined;
  };
  relay.offer(offered);
  await clock.advance(500 + 1_000 + 2_000);
  t.equal(ran.length, 0);
  const asked = relay.acks(offered.command_id);
  t.equal(new Set(asked.map(({ execution_id }) => execution_id)).size, 1, 'it is one execution that asks');
  await clock.advance(5_000);
  t.same(ids(ran), [offered.command_id]);
});

t.test('while an ack hangs the loop goes on syncing, and says what it holds', async (t) => {
  const { clock, relay, ran } = await startDesktop();
  const offered = command();
  relay.onControl = (input) =>
    input.command_id === offered.command_id ? new Promise(() => {}) : Promise.resolve(undefined);
  relay.offer(offered);
  await clock.advance(100_000);
  t.equal(ran.length, 0);
  const later = relay.syncs.slice(3);
  t.ok(later.length >= 3, `${later.length} syncs`);
  t.ok(later.every(({ holding, capacity }) => holding[0] === offered.command_id && capacity === 0));
});

type Change = (desktop: Awaited<ReturnType<typeof startDesktop>>) => void;
const WITHDRAWALS: Readonly<Record<string, Change>> = {
  'the session is not ticked any more': ({ agent }) => void agent.sharing.unshare(PROJECT, SESSION),
  'the project is disabled': ({ agent }) => void agent.sharing.disable(PROJECT),
  'the slug has changed': ({ library }) => {
    library.sessions = [localSession({ slug: 'renamed' })];
  },
  'the Graph is gone': ({ library }) => {
    library.sessions = [];
  },
};

for (const [name, withdraw] of Object.entries(WITHDRAWALS)) {
  for (const moment of ['before the ack', 'between ack and start', 'while the Graph is read'] as const) {
    t.test(`nothing runs when ${name} ${moment}, and the outcome says so`, async (t) => {
      const desktop = await startDesktop();
      const { clock, relay, library, ran } = desktop;
      const offered = command();
      if (moment === 'before the ack') withdraw(desktop);
      if (moment === 'while the Graph is read') library.onLoad = () => withdraw(desktop);
      relay.onControl = async (input) => {
        if (moment === 'between ack and start' && input.command_id === offered.command_id) withdraw(desktop);
        return undefined;
      };
      relay.offer(offered);
      await clock.advance(1_000);
      t.equal(ran.length, 0);
      t.match(relay.completions, [{ command_id: offered.command_id, status: 'cancelled', error: NOT_SHARED }]);
      t.equal(relay.acks(offered.command_id).length, moment === 'before the ack' ? 0 : 1);
    });
  }
}

t.test('a command for a session or project that was never shared does not run', async (t) => {
  const { clock, relay, ran } = await startDesktop();
  const foreign = [
    command({ project_id: 'elsewhere' }),
    command({ project_id: '__proto__' }),
    command({ graph_session_id: `gs_${'f'.repeat(32)}` }),
    command({ graph_session_id: 'constructor' }),
  ];
  relay.onSync = async (input) =>
    input.hold_ms > 0 && relay.syncs.length === 3 ? relay.answer(foreign, 1) : undefined;
  await clock.advance(25_000);
  t.equal(ran.length, 0);
  t.same(
    relay.completions.map(({ error }) => error),
    foreign.map(() => NOT_SHARED),
  );
});

t.test('a stop during the run reaches the engine with its reason, and is reported as cancelled', async (t) => {
  for (const [reason, text] of [
    ['cancelled', 'The run was cancelled.'],
    ['not-shared', NOT_SHARED],
  ] as const) {
    const { clock, relay, ran } = await startDesktop({ runMs: 600_000 });
    const offered = command();
    relay.offer(offered);
    await clock.advance(30_000);
    t.equal(ran[0]?.endedAt, null);
    relay.stop(offered.command_id, reason);
    await clock.advance(10);
    t.equal(ran[0]?.status, 'cancelled');
    t.match(relay.completions, [{ command_id: offered.command_id, status: 'cancelled', error: text }]);
  }
});

t.test('a control that fails during the run is tried again and stops nothing', async (t) => {
  const { clock, relay, ran } = await startDesktop({ runMs: 60_000 });
  const offered = command();
  relay.onControl = async ({ phase }) => {
    if (phase === 'running') throw new RelayError('unreachable', 'no network');
    return undefined;
  };
  relay.offer(offered);
  await clock.advance(70_000);
  t.equal(ran[0]?.status, 'completed');
  const polls = relay.controls.filter(({ phase }) => phase === 'running').length;
  t.ok(polls > 3 && polls < 12, `${polls} attempts in a minute`);
});

t.test('runs are serial by default, in the order of the offers', async (t) => {
  const { clock, relay, ran } = await startDesktop({ runMs: 2_000 });
  const offered = [command(), command(), command()];
  relay.offer(...offered);
  await clock.advance(10_000);
  t.same(
    ids(ran),
    offered.map(({ command_id }) => command_id),
  );
  for (const [index, run] of ran.entries()) if (index > 0) t.ok(run.at >= ran[index - 1]!.endedAt!);
});

t.test('with three slots three runs go on at once, and no more', async (t) => {
  const { clock, relay, ran } = await startDesktop({ runMs: 2_000, slots: 3 });
  relay.offer(...Array.from({ length: 7 }, () => command()));
  await clock.advance(1_000);
  t.equal(ran.length, 3);
  t.equal(relay.syncs.at(-1)?.capacity, 0);
  await clock.advance(20_000);
  t.equal(ran.length, 7);
  for (const { at } of ran) t.ok(ran.filter((r) => r.at <= at && r.endedAt! > at).length <= 3);
});

t.test('nothing runs before it is on disk that it begins', async (t) => {
  const { clock, relay, ran, store } = await startDesktop({ syncDelayMs: 50 });
  const offered = command();
  const before = clock.monotonic();
  relay.offer(offered);
  await clock.advance(49);
  t.equal(ran.length, 0);
  await clock.advance(20);
  t.equal(ran[0]!.at - before, 50);
  const journal = new Map(store.crash().tables as unknown as [string, [string, object][]][]).get('execution');
  t.match(journal, [[offered.command_id, { phase: 'started' }]]);
});

t.test('a word that may run is asked for again when the machine slept since the question', async (t) => {
  const { clock, relay, ran } = await startDesktop();
  const offered = command();
  const words: ControlAnswer[] = [
    { cancel: false, reason: null },
    { cancel: true, reason: 'cancelled' },
  ];
  relay.onControl = async ({ command_id, phase }) => {
    if (command_id !== offered.command_id || phase !== 'starting') return undefined;
    // The answer is on its way when the lid closes. The monotonic clock stands still meanwhile.
    if (words.length === 2) clock.stepWall(15 * 60_000);
    return words.shift();
  };
  relay.offer(offered);
  await clock.advance(5_000);
  t.equal(ran.length, 0);
  const [first, second] = relay.acks(offered.command_id);
  t.equal(second?.execution_id, first?.execution_id, 'the same execution');
  t.match(relay.completions, [{ command_id: offered.command_id, status: 'cancelled' }]);
});
