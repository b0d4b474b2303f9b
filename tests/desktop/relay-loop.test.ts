/** The one loop: when a sync goes out, what it says, and what ends it. */
import t from 'tap';
import { ERRORS, type ErrorCode, RelayError } from '../../protocol/errors.ts';
import { PLAIN_POLL_MS } from '../../protocol/limits.ts';
import { pause } from '../../protocol/waiting.ts';
import { command, ids, localSession, PROJECT, SESSION, startDesktop } from './support.ts';

const CODES = Object.keys(ERRORS) as ErrorCode[];
const FINAL: readonly ErrorCode[] = ['session-replaced', 'unauthorized', 'forbidden', 'unsupported-protocol'];
/** Nobody answered: after a second and more, it is the hold that was cut, and the relay may be well. */
const NO_ANSWER: ReadonlySet<ErrorCode> = new Set(['unreachable', 'not-a-relay', 'deadline-exceeded']);
/** Further than any pause of the backoff. */
const LONG = 30_000;

t.test('the first sync is not held, and from then on each one is', async (t) => {
  const { clock, relay, agent } = await startDesktop();
  await clock.advance(65_000);
  t.same(
    relay.syncs.map(({ at, hold_ms }) => [at, hold_ms]),
    [
      [0, 0],
      [0, 20_000],
      [20_000, 20_000],
      [40_000, 20_000],
      [60_000, 20_000],
    ],
  );
  t.match(agent.snapshot(), { connected: true, epoch: 1, trouble: null, transport: { transport: 'long-poll' } });
});

for (const code of CODES.filter((code) => !FINAL.includes(code))) {
  t.test(`a sync that fails with ${code} is followed by another (C56)`, async (t) => {
    const { clock, relay, agent } = await startDesktop();
    let failures = 3;
    const before = relay.syncs.length;
    relay.onSync = async () => {
      if (failures-- > 0) throw new RelayError(code, 'not now');
      return undefined;
    };
    await clock.advance(20_000);
    if (NO_ANSWER.has(code)) t.ok(agent.snapshot().transport.holds_cut >= 1, 'it counts as a hold that was cut');
    else t.match(agent.snapshot(), { connected: false, trouble: 'not now' });
    await clock.advance(LONG);
    t.ok(relay.syncs.length > before + 3);
    t.match(agent.snapshot(), { connected: true, trouble: null });
  });
}

const FOREIGN: Readonly<Record<string, () => unknown>> = {
  'an AbortError though nobody asked to stop': () => new DOMException('The operation was aborted.', 'AbortError'),
  'an error of no kind': () => new Error('socket hang up'),
  nothing: () => undefined,
  'a string': () => 'cancelled',
};

for (const [name, thrown] of Object.entries(FOREIGN)) {
  t.test(`a sync that fails with ${name} does not end the loop (C56)`, async (t) => {
    const { clock, relay, ran } = await startDesktop();
    let failures = 2;
    relay.onSync = async () => {
      if (failures-- > 0) throw thrown();
      return undefined;
    };
    await clock.advance(20_000 + LONG);
    relay.offer(command());
    await clock.advance(10);
    t.equal(ran.length, 1);
  });
}

for (const code of FINAL) {
  t.test(`${code} ends the loop, stops what runs, and nothing is sent any more`, async (t) => {
    const { clock, relay, ran, ended } = await startDesktop({ runMs: 600_000 });
    relay.offer(command());
    await clock.advance(10_000);
    relay.onSync = async () => {
      throw new RelayError(code, 'no more');
    };
    await clock.advance(LONG);
    t.equal(await ended, code);
    t.equal(ran[0]?.status, 'cancelled');
    t.match(relay.completions, [{ status: 'cancelled', error: new RegExp(code) }], 'its end is still reported');
    const syncs = relay.syncs.length;
    await clock.advance(600_000);
    t.equal(relay.syncs.length, syncs);
  });
}

t.test('pauses after errors grow to a bound, and none follows a normal empty answer', async (t) => {
  const { clock, relay } = await startDesktop();
  await clock.advance(20_000);
  relay.onSync = async () => {
    throw new RelayError('unreachable', 'no network');
  };
  await clock.advance(200_000);
  const failed = relay.syncs.filter(({ at }) => at >= 40_000).map(({ at }) => at);
  const pauses = failed.slice(1).map((at, index) => at - failed[index]!);
  t.same(pauses.slice(0, 7), [500, 1_000, 2_000, 4_000, 8_000, 16_000, 20_000]);
  t.ok(pauses.slice(7).every((ms) => ms === 20_000));
  relay.onSync = async () => undefined;
  await clock.advance(20_000);
  const healed = clock.monotonic();
  await clock.advance(60_000);
  t.ok(relay.syncs.filter(({ at }) => at >= healed).length >= 3, 'holds follow each other again');
});

t.test('a change of what is shared takes the held sync back and sends a new one at once', async (t) => {
  const { clock, relay, agent, library } = await startDesktop();
  let takenBack = 0;
  relay.onSync = async (_input, signal) => {
    signal.addEventListener('abort', () => takenBack++);
    return undefined;
  };
  await clock.advance(25_000);
  const changes: [string, () => unknown, object][] = [
    ['unshare', () => agent.sharing.unshare(PROJECT, SESSION), { project_id: PROJECT, sessions: [] }],
    ['share', () => agent.sharing.share(PROJECT, SESSION), { sessions: [{ graph_session_id: SESSION }] }],
    [
      'edit',
      () => {
        library.sessions = [localSession({ version: 2 })];
        agent.libraryChanged();
      },
      { sessions: [{ version: 2 }] },
    ],
  ];
  for (const [name, change, told] of changes) {
    const before = relay.syncs.length;
    void change();
    await clock.advance(0);
    t.equal(relay.syncs.length, before + 1, `${name} is told at once`);
    t.match(relay.syncs.at(-1)?.projects, [told], name);
    await clock.advance(1_000);
  }
  t.equal(takenBack, 3);
  t.equal(agent.snapshot().connected, true);
});

t.test('a change that changes nothing that others see sends nothing', async (t) => {
  const { clock, relay, agent } = await startDesktop();
  const before = relay.syncs.length;
  void agent.sharing.share(PROJECT, SESSION);
  agent.libraryChanged();
  await clock.advance(1_000);
  t.equal(relay.syncs.length, before);
});

t.test('a change during a pause after an error ends the pause', async (t) => {
  const { clock, relay, agent } = await startDesktop();
  relay.onSync = async () => {
    throw new RelayError('unreachable', 'no network');
  };
  await clock.advance(100_000);
  const before = relay.syncs.length;
  void agent.sharing.unshare(PROJECT, SESSION);
  await clock.advance(0);
  t.equal(relay.syncs.length, before + 1);
});

t.test('a wall clock that jumps leads to a sync at once, and to nothing else (C19)', async (t) => {
  const { clock, relay, agent } = await startDesktop({ runMs: 30_000 });
  relay.offer(command());
  await clock.advance(1_000);
  const before = relay.syncs.length;
  for (const step of [600_000, -1_200_000]) {
    clock.stepWall(step);
    await clock.advance(10_000);
  }
  t.ok(relay.syncs.length > before, 'the connection is looked at anew');
  t.ok(relay.syncs.length <= before + 4, 'and not again and again');
  t.equal(relay.controls.filter(({ phase }) => phase === 'starting').length, 2, 'no second ack, besides the rehearsal');
  t.match(agent.snapshot(), { connected: true, running: 1 });
});

t.test('in plain mode a pass begins on each tick of a fixed phase, and an empty one costs one request', async (t) => {
  const { clock, relay } = await startDesktop({ mode: 'plain' });
  await clock.advance(3_600_000 - 1);
  t.same(new Set(relay.syncs.map(({ hold_ms }) => hold_ms)), new Set([0]));
  t.same(
    relay.syncs.map(({ at }) => at),
    Array.from({ length: 180 }, (_, tick) => tick * PLAIN_POLL_MS),
  );
});

t.test('in plain mode a tick is skipped while the pass before is busy, and the phase stays', async (t) => {
  const { clock, relay, ran } = await startDesktop({ mode: 'plain', runMs: 25_000 });
  const offered = [command(), command()];
  relay.offer(...offered);
  await clock.advance(100_000);
  t.same(
    ids(ran),
    offered.map(({ command_id }) => command_id),
  );
  t.same(
    ran.map(({ at }) => at),
    [20_000, 45_000],
    'both in one pass, one after the other',
  );
  t.same(
    relay.syncs.map(({ at }) => at),
    [0, 20_000, 80_000, 100_000],
  );
});

t.test('in plain mode a run is asked about each three seconds', async (t) => {
  const { clock, relay, ran } = await startDesktop({ mode: 'plain', runMs: 60_000 });
  const offered = command();
  relay.offer(offered);
  await clock.advance(31_000);
  const polls = relay.controls.filter(({ phase }) => phase === 'running');
  t.same(
    polls.map(({ at, hold_ms }) => [at, hold_ms]),
    [
      [23_000, 0],
      [26_000, 0],
      [29_000, 0],
    ],
  );
  relay.stop(offered.command_id);
  await clock.advance(1_000);
  t.equal(ran[0]?.endedAt, 32_000);
  await clock.advance(10_000);
  t.equal(relay.controls.filter(({ phase }) => phase === 'running').length, 4, 'and not after it has stopped');
});

t.test('in plain mode a freed slot sends nothing, and a change of sharing does', async (t) => {
  const { clock, relay, agent } = await startDesktop({ mode: 'plain' });
  relay.offer(command());
  await clock.advance(25_000);
  t.equal(relay.syncs.length, 2);
  void agent.sharing.unshare(PROJECT, SESSION);
  await clock.advance(0);
  t.equal(relay.syncs.at(-1)?.at, 25_000);
});

t.test('while a run goes on one control is held, and it ends with the run', async (t) => {
  const { clock, relay } = await startDesktop({ runMs: 45_000 });
  const open = new Set<object>();
  let most = 0;
  relay.onControl = async (input, signal) => {
    if (input.phase === 'starting') return undefined;
    open.add(input);
    most = Math.max(most, open.size);
    const over = new AbortController();
    signal.addEventListener('abort', () => over.abort());
    await pause(clock, input.hold_ms, over.signal);
    open.delete(input);
    return { cancel: false, reason: null };
  };
  relay.offer(command());
  await clock.advance(44_000);
  t.equal(most, 1);
  await clock.advance(2_000);
  t.equal(open.size, 0, 'taken back when the run had ended');
  t.equal(relay.controls.filter(({ phase }) => phase === 'running').length, 3);
});

t.test('a relay that refuses a project is told to the owner', async (t) => {
  const { clock, relay, agent } = await startDesktop();
  const refused_projects = [{ project_id: PROJECT, reason: 'There is no such project on this relay.' }];
  relay.onSync = async (input) => ({ ...relay.answer([], input.hold_ms), refused_projects, next_sync_ms: 20_000 });
  await clock.advance(20_000);
  t.same(agent.snapshot().refusedProjects, refused_projects);
});
