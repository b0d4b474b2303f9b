/** The transport policy as a pure function: what happened, what is used then, and what a person reads about it. */
import t from 'tap';
import {
  betterThan,
  nextTransport,
  START,
  TRIAL_MAX_MS,
  TRIAL_MIN_MS,
  type TransportEvent,
  type TransportState,
} from '../../desktop-agent/transport-policy.ts';

const SECOND = 1_000;
const GATEWAY = 'Something between here and http://relay answered with status 504 in its place';

/** Plays events, each some time after the one before. */
function play(state: TransportState, events: readonly (readonly [afterMs: number, event: TransportEvent])[], now = 0) {
  let at = now;
  let current = state;
  for (const [afterMs, event] of events) {
    at += afterMs;
    current = nextTransport(current, event, at);
  }
  return current;
}

const answered = (heldMs = 0): TransportEvent => ({ type: 'answered', heldMs });
const cut = (afterMs: number, why = 'the connection was reset'): TransportEvent => ({
  type: 'hold-cut',
  afterMs,
  silent: false,
  why,
});
const silence = (afterMs: number): TransportEvent => ({ ...cut(afterMs, 'no answer'), silent: true }) as TransportEvent;
const unreachable: TransportEvent = { type: 'unreachable', silent: false };
const swallowed: TransportEvent = { type: 'unreachable', silent: true };
const refused: TransportEvent = { type: 'socket-refused', why: 'the upgrade was answered with status 404' };
const lost: TransportEvent = { type: 'socket-lost', why: 'closed with code 1006' };

/** A hold that was cut, and the short request after it that was answered. */
const cutAfter = (afterMs: number, why?: string): [number, TransportEvent][] => [
  [afterMs, cut(afterMs, why)],
  [0, answered()],
];

/** A desktop whose holds were cut after 5 s, twice. */
const SOCKET = play(START, [...cutAfter(5 * SECOND), ...cutAfter(5 * SECOND)]);
const PLAIN = play(SOCKET, [
  [0, refused],
  [0, answered()],
]);

t.test('two cuts at 15 s shorten the hold to what survives, with the proxy in the reason (C01)', async (t) => {
  const state = play(START, [...cutAfter(15 * SECOND, GATEWAY), ...cutAfter(15 * SECOND, GATEWAY)]);
  t.equal(state.transport, 'long-poll');
  t.equal(state.holdMs, 12 * SECOND);
  t.equal(state.holdsCut, 2);
  t.equal(
    state.reason,
    `held requests were cut 2 times in a row, after 15.0 s (${GATEWAY}), so they are held for 12.0 s`,
  );
  t.equal(play(state, [[12 * SECOND, answered(11.5 * SECOND)]]).holdMs, 12 * SECOND);
});

t.test('cuts at the edge of the hold add up, though most holds live (C02)', async (t) => {
  const state = play(START, [
    [19_500, cut(19_500)],
    [0, answered()],
    [19_000, answered(19_000)],
    [19_200, answered(19_200)],
    [19_500, cut(19_500)],
    [0, answered()],
  ]);
  t.equal(state.holdMs, 15_600);
});

t.test('a hold that outlives the cut clears it: two restarts of the relay change nothing', async (t) => {
  const state = play(START, [
    [3 * SECOND, cut(3 * SECOND)],
    [0, answered()],
    [19 * SECOND, answered(19 * SECOND)],
    [4 * SECOND, cut(4 * SECOND)],
    [0, answered()],
  ]);
  t.equal(state.transport, 'long-poll');
  t.equal(state.holdMs, START.holdMs);
});

t.test('cuts that are followed by a relay which is down are not held against the path', async (t) => {
  const state = play(START, [
    [3 * SECOND, cut(3 * SECOND)],
    [0, answered()],
    [4 * SECOND, cut(4 * SECOND)],
    [0, unreachable],
    [SECOND, answered()],
    [25 * SECOND, silence(25 * SECOND)],
    [5 * SECOND, swallowed],
    [6 * SECOND, swallowed],
    [6 * SECOND, answered()],
  ]);
  t.equal(state.transport, 'long-poll');
  t.equal(state.holdMs, START.holdMs);
});

t.test('one request that is swallowed does not hide that holds are cut (C28)', async (t) => {
  const state = play(START, [
    [5 * SECOND, cut(5 * SECOND)],
    [5 * SECOND, swallowed],
    [0, answered()],
    [5 * SECOND, cut(5 * SECOND)],
    [0, answered()],
  ]);
  t.equal(state.transport, 'websocket');
});

t.test('a relay that is simply down never pushes the desktop down the ladder', async (t) => {
  const hours: [number, TransportEvent][] = Array.from({ length: 500 }, () => [20 * SECOND, unreachable]);
  const state = play(START, [[0, answered()], ...hours]);
  t.equal(state.transport, 'long-poll');
  t.equal(state.holdMs, START.holdMs);
  t.equal(state.reason, START.reason);
});

t.test('holds that end in silence are searched by halves, then by a WebSocket (C13)', async (t) => {
  const once = play(START, [
    [0, answered()],
    [25 * SECOND, silence(25 * SECOND)],
    [0, answered()],
  ]);
  t.equal(once.holdMs, 10 * SECOND, 'silence is no restart: one is enough');
  t.match(once.reason, 'held requests were cut after 25.0 s (no answer), so they are held for 10.0 s');
  const twice = play(once, [
    [15 * SECOND, silence(15 * SECOND)],
    [0, answered()],
  ]);
  t.equal(twice.transport, 'websocket');
});

t.test('a shortened hold that never lived is given up at the first cut, one that lived at the second', async (t) => {
  const shortened = play(START, [...cutAfter(15 * SECOND), ...cutAfter(15 * SECOND)]);
  t.equal(play(shortened, cutAfter(10 * SECOND)).holdMs, 8 * SECOND);
  const lived = play(shortened, [[11 * SECOND, answered(11.5 * SECOND)]]);
  t.equal(play(lived, cutAfter(10 * SECOND)).holdMs, 12 * SECOND);
});

t.test('holds that are cut within seconds lead to a WebSocket instead of many short requests (C25)', async (t) => {
  for (const afterMs of [200, 3 * SECOND]) {
    const state = play(START, [...cutAfter(afterMs), ...cutAfter(afterMs)]);
    t.equal(state.transport, 'websocket', `cut after ${afterMs} ms`);
    t.match(state.reason, /^held requests were cut 2 times in a row, after .* so the desktop uses a WebSocket$/);
  }
});

t.test('with holds cut and upgrades refused it is plain polling, within two cuts (C05)', async (t) => {
  t.equal(PLAIN.transport, 'plain');
  t.equal(
    PLAIN.reason,
    'the WebSocket failed (the upgrade was answered with status 404), so the desktop uses plain polling',
  );
  t.equal(play(PLAIN, [[20 * SECOND, answered()]]).transport, 'plain');
});

t.test('a WebSocket that opens and never answers is not up (C07)', async (t) => {
  const state = play(SOCKET, [[5 * SECOND, { type: 'socket-refused', why: 'no answer within 5000 ms' }]]);
  t.equal(state.transport, 'plain');
  t.equal(play(state, [[0, answered()]]).transport, 'plain');
});

t.test('a restart of the relay costs a WebSocket that had worked nothing', async (t) => {
  const working = play(SOCKET, [[0, answered()]]);
  const down = play(working, [
    [60 * SECOND, lost],
    [0, refused],
    [0, unreachable],
    [SECOND, refused],
    [0, unreachable],
  ]);
  t.equal(down.transport, 'websocket');
  t.equal(down.reason, working.reason);
  t.equal(play(down, [[SECOND, answered()]]).transport, 'websocket');
  // The relay comes back between the attempt to open and the plain request that asks whether it is there.
  const back = play(down, [
    [SECOND, refused],
    [0, answered()],
  ]);
  t.equal(back.transport, 'websocket');
  t.equal(play(back, [[0, answered()]]).transport, 'websocket');
  const broken = play(back, [
    [0, refused],
    [0, answered()],
  ]);
  t.equal(broken.transport, 'plain', 'the second failure while the relay answers counts');
});

t.test('a WebSocket that is lost three times in two minutes is given up, a rare loss is not', async (t) => {
  const working = play(SOCKET, [[0, answered()]]);
  const often = play(working, [
    [5 * SECOND, lost],
    [0, answered()],
    [5 * SECOND, lost],
    [0, answered()],
    [5 * SECOND, lost],
  ]);
  t.equal(often.transport, 'plain');
  t.equal(
    often.reason,
    'the WebSocket was lost 3 times within 120.0 s (closed with code 1006), so the desktop uses plain polling',
  );
  const rarely: [number, TransportEvent][] = Array.from({ length: 20 }, () => [90 * SECOND, lost]);
  t.equal(play(working, rarely).transport, 'websocket');
});

t.test('a fallback is left when a trial works, and trials grow rarer while they fail (C08)', async (t) => {
  t.same(betterThan(PLAIN), ['long-poll', 'websocket']);
  t.equal(PLAIN.trialAt, TRIAL_MIN_MS);
  const healed = play(PLAIN, [[TRIAL_MIN_MS, { type: 'trial-worked', transport: 'long-poll' }]]);
  t.equal(healed.transport, 'long-poll');
  t.equal(healed.holdMs, START.holdMs);
  t.equal(healed.reason, 'the first choice works again');
  t.equal(healed.trialAt, null);

  let failing = PLAIN;
  const pauses: number[] = [];
  for (let trial = 0; trial < 6; trial++) {
    const at = failing.trialAt!;
    failing = nextTransport(failing, { type: 'trial-failed' }, at);
    pauses.push(failing.trialAt! - at);
  }
  const minutes = pauses.map((pause) => pause / 60_000);
  t.same(minutes, [10, 20, 40, 60, 60, 60]);
  t.equal(failing.transport, 'plain');
  t.equal(failing.trialPauseMs, TRIAL_MAX_MS);
});

t.test('what works in a trial and fails again is tried less often', async (t) => {
  const healed = play(PLAIN, [[TRIAL_MIN_MS, { type: 'trial-worked', transport: 'long-poll' }]]);
  const again = play(healed, [...cutAfter(5 * SECOND), ...cutAfter(5 * SECOND)]);
  t.equal(again.transport, 'websocket');
  t.equal(again.trialPauseMs, 2 * TRIAL_MIN_MS);
});

t.test('from plain polling a WebSocket that works again is better than nothing, and still no wish', async (t) => {
  const state = play(PLAIN, [[TRIAL_MIN_MS, { type: 'trial-worked', transport: 'websocket' }]]);
  t.equal(state.transport, 'websocket');
  t.equal(state.reason, 'held requests are still cut, and the WebSocket works again');
  t.same(betterThan(state), ['long-poll']);
  t.not(state.trialAt, null);
});

t.test('the outcome of a trial that came too late changes nothing', async (t) => {
  const worked: TransportEvent = { type: 'trial-worked', transport: 'websocket' };
  t.equal(nextTransport(START, worked, 0), START);
  t.equal(nextTransport(START, { type: 'trial-failed' }, 0), START);
  t.equal(nextTransport(SOCKET, worked, 0), SOCKET);
});

for (const [why, reason] of [
  ['woke', 'this machine woke from sleep, so the path may be another'],
  ['network-changed', 'the network has changed, so the path may be another'],
] as const) {
  t.test(`the first choice is tried at once after "${why}", and with short pauses again (C08)`, async (t) => {
    let state = PLAIN;
    for (let trial = 0; trial < 4; trial++) state = nextTransport(state, { type: 'trial-failed' }, state.trialAt!);
    state = nextTransport(state, { type: 'path-changed', why }, 0);
    t.equal(state.transport, 'long-poll');
    t.equal(state.reason, reason);
    t.equal(state.trialPauseMs, TRIAL_MIN_MS);
    const first = play(START, [[5 * SECOND, cut(5 * SECOND)]]);
    t.equal(nextTransport(first, { type: 'path-changed', why }, 0).cuts, 0, 'what the old path did is forgotten');
    t.equal(nextTransport(first, { type: 'path-changed', why }, 0).reason, START.reason);
  });
}

t.test('events of another transport than the one in use change nothing but the count of cut holds', async (t) => {
  t.equal(nextTransport(START, refused, 0), START);
  t.equal(nextTransport(START, lost, 0), START);
  t.same(nextTransport(SOCKET, cut(SECOND), 0), { ...SOCKET, holdsCut: SOCKET.holdsCut + 1 });
});
