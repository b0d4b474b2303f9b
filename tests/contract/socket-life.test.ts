/** How long the relay believes in a WebSocket, and what it says of the desktop behind it, in virtual time. */
import t from 'tap';
import { SOCKET_PONG_MS, SOCKET_SILENCE_MS } from '../../protocol/limits.ts';
import type { Log, LogFields } from '../../protocol/ports.ts';
import { DesktopSocket } from '../../server/desktop-socket.ts';
import { ScriptedServerSocket } from './scripted-socket.ts';
import { createTestRelay, PROJECT, readRun, SECOND, startRun, syncInput, type TestRelay } from './support.ts';

const HOLD = { hold_ms: 20 * SECOND };
const MINUTE = 60 * SECOND;

type Behaviour = ConstructorParameters<typeof ScriptedServerSocket>[0];

interface Site extends TestRelay {
  readonly desktopId: string;
  readonly silences: LogFields[];
  connect(behaviour?: Behaviour, bytesRead?: () => number): ScriptedServerSocket;
}

async function site(): Promise<Site> {
  const silences: LogFields[] = [];
  const info: Log['info'] = (event, fields = {}) => {
    if (event === 'socket.fell-silent') silences.push(fields);
  };
  const world = await createTestRelay({ log: { debug() {}, info, warn() {}, error() {} } });
  const { desktopId } = world.relay.access.desktopOf(world.desktops[0]!)!;
  const connect: Site['connect'] = (behaviour, bytesRead) => {
    const socket = new ScriptedServerSocket(behaviour);
    world.relay.acceptSocket(socket, desktopId, bytesRead && { bytesRead });
    return socket;
  };
  return { ...world, desktopId, silences, connect };
}

async function presence({ relay, agent }: TestRelay) {
  const { sessions } = await relay.agents.listSessions(agent, { project_id: PROJECT, limit: 1 });
  return sessions[0]?.desktop;
}

/** A desktop whose sync is held over a WebSocket. */
async function held(world: Site, behaviour?: Behaviour, changes: object = {}): Promise<ScriptedServerSocket> {
  const socket = world.connect(behaviour);
  socket.call(1, 'sync', syncInput({ ...HOLD, ...changes }));
  await world.clock.advance(1);
  return socket;
}

t.test('a socket that fell silent is ended within two intervals, and its desktop is offline (C14)', async (t) => {
  const world = await site();
  const socket = await held(world, { answersPings: false });
  t.match(await presence(world), { online: true, transport: 'websocket' });
  await world.clock.advance(SOCKET_SILENCE_MS + SOCKET_PONG_MS - 10);
  t.match(await presence(world), { online: true });
  t.notOk(socket.did.includes('terminate'));
  await world.clock.advance(20);
  t.ok(world.clock.monotonic() < 2 * SOCKET_SILENCE_MS);
  t.strictSame(socket.did, ['ping', 'terminate'], 'nobody would confirm an end');
  t.match(await presence(world), { online: false, since: null, transport: null, asleep: null });
  t.match(world.silences, [{ desktop_id: world.desktopId, newest: true }]);

  const { command_id } = await startRun(world);
  t.match(await readRun(world, command_id), { status: 'queued', timing: { offered_at: null } }, 'its hold has ended');
  const again = world.connect();
  again.call(1, 'sync', syncInput(HOLD));
  await world.clock.advance(1);
  t.match(again.answers, [{ result: { data: { commands: [{ command_id }] } } }]);
  t.match(await presence(world), { online: true });
});

t.test('a socket that answers pings lives, though nothing else comes', async (t) => {
  const world = await site();
  const socket = world.connect();
  await world.clock.advance(10 * MINUTE);
  t.strictSame([...new Set(socket.did)], ['ping']);
  t.strictSame(world.silences, []);
});

t.test('a desktop that asks by itself is not asked', async (t) => {
  const world = await site();
  const socket = await held(world);
  for (let n = 0; n < 10; n++) {
    await world.clock.advance(10 * SECOND);
    socket.says('PING');
  }
  t.notOk(socket.did.includes('ping'));
});

t.test('a large frame on a slow link is a sign of life long before it is complete', async (t) => {
  const world = await site();
  let bytes = 0;
  const socket = world.connect({ answersPings: false }, () => bytes);
  for (let second = 0; second < 60; second++) {
    await world.clock.advance(SECOND);
    bytes += 1_000;
  }
  t.notOk(socket.did.includes('terminate'), 'the answer to the ping is behind it');
  await world.clock.advance(2 * SOCKET_SILENCE_MS);
  t.ok(socket.did.includes('terminate'), 'until nothing comes any more');
});

t.test('the silence of a socket that a desktop has given up says nothing of the desktop', async (t) => {
  const world = await site();
  const old = await held(world, { answersPings: false });
  await world.clock.advance(5 * SECOND);
  const current = await held(world);
  await world.clock.advance(SOCKET_SILENCE_MS + SOCKET_PONG_MS - 5 * SECOND);
  t.ok(old.did.includes('terminate'));
  t.match(world.silences, [{ newest: false }]);
  t.match(await presence(world), { online: true, transport: 'websocket' });
  const { command_id } = await startRun(world);
  await world.clock.advance(1);
  t.match(current.answers, [{ result: { data: { commands: [{ command_id }] } } }], 'its own hold is still there');
});

t.test('a desktop that went on by another transport stays online, and is shown with it', async (t) => {
  const world = await site();
  const old = await held(world, { answersPings: false });
  await world.clock.advance(5 * SECOND);
  void world.trpc('sync', syncInput(HOLD));
  await world.clock.advance(1);
  t.match(await presence(world), { online: true, transport: 'long-poll' });
  await world.clock.advance(SOCKET_SILENCE_MS + SOCKET_PONG_MS - 5 * SECOND);
  t.ok(old.did.includes('terminate'));
  t.match(await presence(world), { online: true, transport: 'long-poll' });
});

t.test('a desktop that said goodbye before its socket fell silent is still asleep', async (t) => {
  const world = await site();
  const socket = await held(world, { answersPings: false });
  socket.call(2, 'sync', syncInput({ leaving: 'asleep' }));
  await world.clock.advance(2 * SOCKET_SILENCE_MS);
  t.ok(socket.did.includes('terminate'));
  t.match(await presence(world), { online: false, asleep: true });
});

t.test('a relay that was itself held up asks again before it judges', async (t) => {
  const world = await site();
  const late = { ms: 0 };
  const { clock } = world;
  const socket = new ScriptedServerSocket({ answersPings: false });
  new DesktopSocket({
    socket,
    desktopId: 'd',
    clock: {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      after: (ms, run) => clock.after(ms + late.ms, run),
    },
    times: { socketSilenceMs: SOCKET_SILENCE_MS, socketPongMs: SOCKET_PONG_MS, socketCloseMs: SECOND },
    onSilent: () => {},
  });
  late.ms = 30 * SECOND;
  await clock.advance(SOCKET_SILENCE_MS);
  late.ms = 0;
  await clock.advance(SOCKET_PONG_MS + 30 * SECOND);
  t.strictSame(socket.did, ['ping', 'ping']);
  await clock.advance(SOCKET_PONG_MS);
  t.strictSame(socket.did, ['ping', 'ping', 'terminate']);
});

t.test('a revoked token ends its socket at once: no frame is served after it', async (t) => {
  const world = await site();
  const socket = await held(world, { confirmsEnd: false });
  const { command_id } = await startRun(world);
  await world.clock.advance(1);
  await world.settle(world.relay.access.revokeToken('d1'));
  t.strictSame(socket.did, ['sent 1', 'close 4401']);
  socket.call(2, 'control', { command_id, execution_id: command_id, phase: 'starting', hold_ms: 0 });
  await world.clock.advance(500);
  t.match(await readRun(world, command_id), { status: 'queued' }, 'it is not started');
  await world.clock.advance(SECOND);
  t.strictSame(socket.did, ['sent 1', 'close 4401', 'terminate'], 'and its confirmation is not waited for');
});
