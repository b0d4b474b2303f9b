/** One WebSocket at a time under the desktop's calls, on a virtual clock: what ends it, and what its end means. */
import t from 'tap';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { createSocketDialer } from '../../desktop-agent/dialer/socket-dialer.ts';
import type { Dialer } from '../../desktop-agent/ports.ts';
import type { RelayError } from '../../protocol/errors.ts';
import type { SyncInput } from '../../protocol/schemas.ts';
import { type ScriptedSocket, scriptedSockets } from './scripted-sockets.ts';

const SECOND = 1_000;
const SYNC: SyncInput = {
  instance_id: '11111111-1111-4111-8111-111111111111',
  projects: [],
  holding: [],
  capacity: 1,
  hold_ms: 20 * SECOND,
};
const SYNC_ANSWER = { epoch: 1, commands: [], refused_projects: [], hold_granted_ms: 0, next_sync_ms: 0 };
const COMPLETION = {
  command_id: '22222222-2222-4222-8222-222222222222',
  execution_id: '33333333-3333-4333-8333-333333333333',
  status: 'completed' as const,
};
const COMPLETE_ANSWER = { stored: true, already: false, sync_raised: false };

function world(onOpen?: (socket: ScriptedSocket) => void) {
  const clock = new VirtualClock();
  const { sockets, open } = scriptedSockets(onOpen);
  const dialer = createSocketDialer({ url: 'http://relay.test', token: () => 'grd_token', clock, open });
  return { clock, sockets, dialer };
}

/** The call's answer, or its error, without an unhandled rejection in between. */
function outcome<T>(call: Promise<T>): Promise<T | RelayError> {
  return call.catch((error: RelayError) => error);
}

const sync = (dialer: Dialer, input: Partial<SyncInput> = {}, signal = new AbortController().signal) =>
  outcome(dialer.sync({ ...SYNC, ...input }, { signal }));
const complete = (dialer: Dialer, result: unknown = null) =>
  outcome(dialer.complete({ ...COMPLETION, result }, { signal: new AbortController().signal }));

t.test('calls share one socket, which is opened by the first of them with the token', async (t) => {
  const { clock, sockets, dialer } = world();
  const first = sync(dialer);
  const second = complete(dialer);
  await clock.advance(50);
  t.equal(sockets.length, 1);
  const [socket] = sockets as [ScriptedSocket];
  t.equal(socket.headers.authorization, 'Bearer grd_token');
  t.same(socket.sent, [], 'nothing is sent before it is open');
  socket.open();
  t.same(
    socket.calls.map(({ params }) => params.path),
    ['relay.sync', 'relay.complete'],
  );
  socket.answer(socket.calls[1]!.id, COMPLETE_ANSWER);
  socket.answer(socket.calls[0]!.id, SYNC_ANSWER);
  t.same(await clock.settle(second), COMPLETE_ANSWER);
  t.same(await clock.settle(first), SYNC_ANSWER);
});

t.test('an upgrade that is refused fails the call at once, and the next call dials again', async (t) => {
  const { clock, sockets, dialer } = world();
  const failed = sync(dialer);
  await clock.advance(1);
  sockets[0]!.close('the upgrade was answered with status 404');
  t.match(await clock.settle(failed), { code: 'unreachable', message: /status 404/ });
  void sync(dialer);
  await clock.advance(1);
  t.equal(sockets.length, 2);
});

t.test('a refusal that carries the code of the relay keeps it', async (t) => {
  const { clock, sockets, dialer } = world();
  const failed = sync(dialer);
  await clock.advance(1);
  sockets[0]!.close('the upgrade was answered with status 401', 'unauthorized');
  t.match(await clock.settle(failed), { code: 'unauthorized' });
});

t.test('a socket that never opens is given up by a limit of its own', async (t) => {
  const { clock, sockets, dialer } = world();
  const failed = sync(dialer);
  await clock.advance(9.9 * SECOND);
  t.notOk(sockets[0]!.terminated);
  await clock.advance(SECOND);
  t.ok(sockets[0]!.terminated);
  t.match(await failed, { code: 'unreachable', message: /no WebSocket within 10000 ms/ });
});

t.test('a socket that fails while it is being made fails the call and is ended', async (t) => {
  const { clock, sockets, dialer } = world((socket) => socket.close('no such host'));
  t.match(await clock.settle(sync(dialer)), { code: 'unreachable', message: /no such host|never opened/ });
  t.ok(sockets[0]!.terminated);
});

t.test('a silent socket is found by a ping within two intervals (C14)', async (t) => {
  const { clock, sockets, dialer } = world((socket) => queueMicrotask(() => socket.open()));
  const failed = sync(dialer);
  await clock.advance(9 * SECOND);
  sockets[0]!.pong();
  const before = clock.monotonic();
  t.match(await clock.settle(failed), { code: 'unreachable', message: /it fell silent/ });
  t.equal(clock.monotonic() - before, 15 * SECOND, 'one pause and the limit for the pong');
  t.ok(sockets[0]!.terminated, 'it is not waited for');
});

t.test('a socket that answers pings lives through a whole hold', async (t) => {
  const { clock, sockets, dialer } = world((socket) => queueMicrotask(() => socket.open()));
  const held = sync(dialer);
  await clock.advance(10.1 * SECOND);
  t.equal(sockets[0]!.sent.at(-1), 'PING');
  sockets[0]!.pong();
  await clock.advance(9 * SECOND);
  sockets[0]!.answer(sockets[0]!.calls[0]!.id, SYNC_ANSWER);
  t.same(await clock.settle(held), SYNC_ANSWER);
});

t.test('late events of an old socket change nothing on the new one (C100)', async (t) => {
  const { clock, sockets, dialer } = world();
  const first = sync(dialer);
  await clock.advance(1);
  const [old] = sockets as [ScriptedSocket];
  old.open();
  old.close('closed with code 1006');
  await clock.settle(first);

  const second = sync(dialer);
  await clock.advance(1);
  const current = sockets[1]!;
  current.open();
  const { id } = current.calls[0]!;
  old.open();
  old.answer(id, { ...SYNC_ANSWER, epoch: 99 });
  old.close('closed with code 1006');
  await clock.advance(5 * SECOND);
  t.notOk(current.terminated);
  current.answer(id, SYNC_ANSWER);
  t.same(await clock.settle(second), SYNC_ANSWER);
  t.equal(sockets.length, 2);
});

t.test('a socket whose end never comes as an event is ended by us, with its calls (C100)', async (t) => {
  const { clock, sockets, dialer } = world((socket) => queueMicrotask(() => socket.open()));
  const failed = sync(dialer);
  await clock.advance(16 * SECOND);
  t.ok(sockets[0]!.terminated);
  t.match(await failed, { code: 'unreachable' });
});

t.test('an upgrade that swallows all frames is noticed by the deadline of an unheld call (C07)', async (t) => {
  const { clock, dialer } = world((socket) => queueMicrotask(() => socket.open()));
  const before = clock.monotonic();
  t.match(await clock.settle(sync(dialer, { hold_ms: 0 })), { code: 'deadline-exceeded' });
  t.equal(clock.monotonic() - before, 5 * SECOND);
});

t.test('a call that is taken back is not sent when the socket opens later', async (t) => {
  const { clock, sockets, dialer } = world();
  const abort = new AbortController();
  const taken = sync(dialer, {}, abort.signal);
  await clock.advance(1);
  abort.abort();
  await clock.settle(taken);
  void complete(dialer);
  await clock.advance(1);
  sockets[0]!.open();
  t.same(
    sockets[0]!.calls.map(({ params }) => params.path),
    ['relay.complete'],
  );
});

/** Connects, hears a sign of life, and is cut after so much silence. */
async function cutAfter({ clock, sockets, dialer }: ReturnType<typeof world>, silenceMs: number): Promise<void> {
  const cut = sync(dialer);
  await clock.advance(1);
  sockets.at(-1)!.pong();
  await clock.advance(silenceMs);
  sockets.at(-1)!.close('closed with code 1006');
  await clock.settle(cut);
}

t.test('a path that cuts silent sockets is asked for signs of life more often', async (t) => {
  const here = world((socket) => queueMicrotask(() => socket.open()));
  const { clock, sockets, dialer } = here;
  await cutAfter(here, 5 * SECOND);
  await cutAfter(here, 5.2 * SECOND);
  void sync(dialer);
  await clock.advance(2.5 * SECOND);
  t.not(sockets[2]!.sent.at(-1), 'PING');
  await clock.advance(0.2 * SECOND);
  t.equal(sockets[2]!.sent.at(-1), 'PING', 'after half of the silence that was cut');
});

t.test('connections that are lost by chance are no lesson about the path', async (t) => {
  const here = world((socket) => queueMicrotask(() => socket.open()));
  const { clock, sockets, dialer } = here;
  for (const seconds of [2, 7, 3, 9, 4, 8]) await cutAfter(here, seconds * SECOND);
  void sync(dialer);
  await clock.advance(9.9 * SECOND);
  t.not(sockets.at(-1)!.sent.at(-1), 'PING');
});

t.test('after a change of network nothing is held against the new one', async (t) => {
  const here = world((socket) => queueMicrotask(() => socket.open()));
  const { clock, sockets, dialer } = here;
  for (const seconds of [5, 5]) await cutAfter(here, seconds * SECOND);
  dialer.renew?.();
  void sync(dialer);
  await clock.advance(9.9 * SECOND);
  t.not(sockets.at(-1)!.sent.at(-1), 'PING');
});

t.test('the end that a relay announces is no lesson about the path', async (t) => {
  const { clock, sockets, dialer } = world((socket) => queueMicrotask(() => socket.open()));
  const first = sync(dialer);
  await clock.advance(1);
  sockets[0]!.pong();
  await clock.advance(5 * SECOND);
  sockets[0]!.close('the relay stops', 'shutting-down');
  t.match(await clock.settle(first), { code: 'shutting-down' });
  void sync(dialer);
  await clock.advance(9.9 * SECOND);
  t.not(sockets[1]!.sent.at(-1), 'PING');
});

t.test('a socket that nothing uses any more is closed instead of pinged for ever', async (t) => {
  const { clock, sockets, dialer } = world((socket) => queueMicrotask(() => socket.open()));
  const done = sync(dialer);
  await clock.advance(1);
  sockets[0]!.answer(sockets[0]!.calls[0]!.id, SYNC_ANSWER);
  await clock.settle(done);
  await clock.advance(11 * SECOND);
  t.ok(sockets[0]!.terminated);
  t.equal(sockets[0]!.sent.includes('PING'), false);
});

t.test('1009 names the largest message, which is never sent again; others are free to go (C97)', async (t) => {
  const { clock, sockets, dialer } = world((socket) => queueMicrotask(() => socket.open()));
  const held = sync(dialer);
  const large = complete(dialer, 'x'.repeat(50_000));
  await clock.advance(1);
  sockets[0]!.close('closed with code 1009', 'too-large');
  t.match(await clock.settle(large), { code: 'too-large', message: /A message of 50\d\d\d characters/ });
  t.match(await clock.settle(held), { code: 'unreachable' });

  t.match(await clock.settle(complete(dialer, 'x'.repeat(50_000))), { code: 'too-large' });
  t.equal(sockets.length, 1, 'that was known without a socket');
  void complete(dialer, 'small');
  await clock.advance(1);
  t.equal(sockets.length, 2);
  t.match(sockets[1]!.calls, [{ params: { input: { result: 'small' } } }]);
});

t.test('what is no message of the relay is passed over', async (t) => {
  const { clock, sockets, dialer } = world((socket) => queueMicrotask(() => socket.open()));
  const held = sync(dialer);
  await clock.advance(1);
  const { events, calls } = sockets[0]!;
  for (const text of ['', 'PONG', '{', 'null', '[]', '{"id":"1"}', '{"id":null,"error":{"message":"x"}}']) {
    events.onMessage(text);
  }
  sockets[0]!.answer(calls[0]!.id, SYNC_ANSWER);
  t.same(await clock.settle(held), SYNC_ANSWER);
});

t.test('an answer that has not the form of a relay is refused', async (t) => {
  const { clock, sockets, dialer } = world((socket) => queueMicrotask(() => socket.open()));
  const held = sync(dialer);
  await clock.advance(1);
  sockets[0]!.answer(sockets[0]!.calls[0]!.id, { hello: 'world' });
  t.match(await clock.settle(held), { code: 'not-a-relay' });
});
