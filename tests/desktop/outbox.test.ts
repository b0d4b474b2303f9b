/** Completions on their way: what is tried again, what is set aside, and that none waits for another. */
import t from 'tap';
import { ERRORS, type ErrorCode, RelayError } from '../../protocol/errors.ts';
import { command, restartDesktop, startDesktop } from './support.ts';

const CODES = Object.keys(ERRORS) as ErrorCode[];
/** Refused now, and maybe not for ever: an owner or an update can change it. */
const LATER: ReadonlySet<ErrorCode> = new Set(['forbidden', 'unsupported-protocol']);
const FOR_GOOD: readonly ErrorCode[] = CODES.filter((code) => ERRORS[code].retry === 'never' && !LATER.has(code));
const AGAIN: readonly ErrorCode[] = CODES.filter((code) => !FOR_GOOD.includes(code));

for (const code of AGAIN) {
  t.test(`a completion that fails with ${code} stays and is posted again until it is taken (C36, C38)`, async (t) => {
    const { clock, relay, agent } = await startDesktop();
    let failures = 3;
    relay.onComplete = async () => {
      if (failures-- > 0) throw new RelayError(code, 'not now');
      return undefined;
    };
    relay.offer(command());
    await clock.advance(1_010);
    t.equal(relay.completions.length, 1);
    t.equal(agent.snapshot().outbox.pending, 1);
    await clock.advance(60_000);
    t.equal(relay.completions.length, 4);
    const pauses = relay.completions.slice(1).map(({ at }, index) => at - relay.completions[index]!.at);
    t.same(pauses, [500, 1_000, 2_000], 'slower each time');
    t.same(agent.snapshot().outbox, { pending: 0, refused: [] });
  });
}

for (const code of FOR_GOOD) {
  t.test(
    `a completion that is refused with ${code} is set aside at once and shown, and the slot is free (C60)`,
    async (t) => {
      const { clock, relay, agent, ran, lines } = await startDesktop();
      const [refused, next] = [command(), command()];
      relay.onComplete = async ({ command_id }) => {
        if (command_id === refused.command_id) throw new RelayError(code, `no: ${code}`);
        return undefined;
      };
      relay.offer(refused, next);
      await clock.advance(120_000);
      t.equal(relay.completions.filter((c) => c.command_id === refused.command_id).length, 1, 'never posted again');
      t.equal(ran.length, 2);
      const { outbox, holding } = agent.snapshot();
      t.equal(outbox.pending, 0);
      t.match(outbox.refused, [{ commandId: refused.command_id, refused: `no: ${code}` }]);
      t.same(holding, [], 'it is not held against the relay');
      t.match(
        lines.find(({ event }) => event === 'outbox.refused'),
        { level: 'error', fields: { code } },
      );
    },
  );
}

t.test('a refused completion stays for the owner over a restart, and is not posted again', async (t) => {
  const desktop = await startDesktop();
  desktop.relay.onComplete = async () => {
    throw new RelayError('execution-refused', 'another execution');
  };
  desktop.relay.offer(command());
  await desktop.clock.advance(5_000);
  const reborn = await restartDesktop(desktop);
  await reborn.clock.advance(60_000);
  t.equal(reborn.relay.completions.length, 1);
  t.equal(reborn.agent.snapshot().outbox.refused.length, 1);
});

t.test('an entry that hangs or fails keeps no other entry from being delivered', async (t) => {
  const { clock, relay, agent } = await startDesktop({ slots: 3 });
  const [hangs, fails, passes] = [command(), command(), command()];
  relay.onComplete = async ({ command_id }) => {
    if (command_id === hangs.command_id) return new Promise(() => {});
    if (command_id === fails.command_id) throw new RelayError('internal', 'broken');
    return undefined;
  };
  relay.offer(hangs, fails, passes);
  await clock.advance(1_010);
  t.same([...agent.snapshot().holding].sort(), [hangs.command_id, fails.command_id].sort());
  const later = command();
  relay.offer(later);
  await clock.advance(5_000);
  t.equal(relay.completions.filter((c) => c.command_id === later.command_id).length, 1);
});

t.test('a completion that the relay had already is settled like a new one (C54)', async (t) => {
  const { clock, relay, agent } = await startDesktop();
  relay.onComplete = async () => ({ stored: true, already: true, sync_raised: false });
  relay.offer(command());
  await clock.advance(60_000);
  t.equal(relay.completions.length, 1);
  t.same(agent.snapshot().outbox, { pending: 0, refused: [] });
});

t.test('capacity goes along on the first post only, since later it may not be true any more', async (t) => {
  const { clock, relay } = await startDesktop();
  let failures = 1;
  relay.onComplete = async () => {
    if (failures-- > 0) throw new RelayError('unreachable', 'no network');
    return undefined;
  };
  relay.offer(command());
  await clock.advance(5_000);
  t.same(
    relay.completions.map(({ capacity }) => capacity),
    [1, undefined],
  );
});

t.test('a completion that raised the held sync saves a new one; one that did not is followed by one', async (t) => {
  for (const sync_raised of [true, false]) {
    const { clock, relay } = await startDesktop();
    relay.onComplete = async () => ({ stored: true, already: false, sync_raised });
    relay.offer(command());
    await clock.advance(500);
    const before = relay.syncs.length;
    await clock.advance(1_000);
    t.equal(relay.syncs.length - before, sync_raised ? 0 : 1);
  }
});

t.test('what could not be delivered is posted the moment the relay is back', async (t) => {
  const { clock, relay } = await startDesktop();
  let down = false;
  const failWhenDown = async () => {
    if (down) throw new RelayError('unreachable', 'no network');
    return undefined;
  };
  relay.onComplete = failWhenDown;
  relay.onSync = failWhenDown;
  relay.offer(command());
  await clock.advance(500);
  down = true;
  await clock.advance(120_000);
  down = false;
  const healed = clock.monotonic();
  await clock.advance(20_000);
  const delivered = relay.completions.findLast(({ at }) => at >= healed)!;
  const back = relay.syncs.find(({ at }) => at >= healed)!;
  t.ok(delivered.at <= back.at, 'no later than with the first sync that worked');
});

t.test('in plain mode an entry waits for the next pass, and every pass delivers first', async (t) => {
  const { clock, relay } = await startDesktop({ mode: 'plain' });
  let failures = 2;
  relay.onComplete = async () => {
    if (failures-- > 0) throw new RelayError('unreachable', 'no network');
    return undefined;
  };
  relay.offer(command());
  await clock.advance(90_000);
  t.same(
    relay.completions.map(({ at }) => at),
    [21_000, 40_000, 60_000],
  );
});
