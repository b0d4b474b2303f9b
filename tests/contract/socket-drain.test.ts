/** What becomes of WebSockets when the relay stops: their answers first, then the end, and never a wait for a dead one. */
import t from 'tap';
import { simulatedSocket } from '../../bench/sim/sockets.ts';
import { createTimedEngine } from '../../bench/sim/timed-engine.ts';
import { createAgent } from '../../desktop-agent/agent.ts';
import { createDialers } from '../../desktop-agent/dialer/dialers.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../desktop-agent/rows.ts';
import { createMemoryState } from '../../protocol/host/state/memory-state.ts';
import { DRAIN_SPREAD_MS, RECONNECT_STEP_MS, SOCKET_CLOSE_MS } from '../../protocol/limits.ts';
import type { Log } from '../../protocol/ports.ts';
import { ScriptedServerSocket } from './scripted-socket.ts';
import {
  createTestRelay,
  PROJECT,
  readRun,
  SECOND,
  session,
  startRun,
  syncInput,
  type TestRelay,
  uuid,
} from './support.ts';

const HOLD = { hold_ms: 20 * SECOND };

function connect(world: TestRelay, behaviour: ConstructorParameters<typeof ScriptedServerSocket>[0] = {}) {
  const socket = new ScriptedServerSocket(behaviour);
  world.relay.acceptSocket(socket, world.relay.access.desktopOf(world.desktops[0]!)!.desktopId);
  return socket;
}

/** A desktop that runs one command, with its sync and its control held. */
async function busy(world: TestRelay, behaviour: ConstructorParameters<typeof ScriptedServerSocket>[0] = {}) {
  const socket = connect(world, behaviour);
  socket.call(1, 'sync', syncInput(HOLD));
  await world.clock.advance(1);
  const { command_id } = await startRun(world);
  const control = { command_id, execution_id: uuid(7), ...HOLD };
  socket.call(2, 'control', { ...control, phase: 'starting' });
  await world.clock.advance(1);
  socket.call(3, 'control', { ...control, phase: 'running' });
  socket.call(4, 'sync', syncInput({ ...HOLD, holding: [command_id], capacity: 0 }));
  await world.clock.advance(1);
  t.strictSame(socket.did, ['sent 1', 'sent 2']);
  return { socket, command_id };
}

t.test('a held sync and a held control get their answers before the socket is closed (C17)', async (t) => {
  const world = await createTestRelay();
  const { socket } = await busy(world);
  await world.settle(world.relay.drain());
  t.strictSame(socket.did.slice(2), ['sent 4', 'sent 3', 'close 1012']);
  const [sync, control] = socket.answers.slice(2);
  t.match(sync, { result: { data: { commands: [] } } });
  t.ok(sync!.result!.data.next_sync_ms <= RECONNECT_STEP_MS, 'it is told when to come back');
  t.match(control, { error: { data: { relayCode: 'shutting-down' } } });
});

t.test('a completion that came before the end is stored and answered', async (t) => {
  const world = await createTestRelay({ diskMs: 300 });
  const { socket, command_id } = await busyOnSlowDisk(world);
  socket.call(5, 'complete', { command_id, execution_id: uuid(7), status: 'completed', result: 'done' });
  await world.settle(world.relay.drain());
  const answerTo = (id: number) => socket.answers.find((answer) => answer.id === id)?.result?.data;
  t.match(answerTo(3), { cancel: false });
  t.match(answerTo(5), { stored: true });
  t.equal(socket.did.at(-1), 'close 1012');
  const next = await createTestRelay({ after: { image: world.crash(), of: world } });
  t.match(await readRun(next, command_id), { status: 'completed', result: 'done' });
});

async function busyOnSlowDisk(world: TestRelay) {
  const socket = connect(world);
  socket.call(1, 'sync', syncInput());
  await world.clock.advance(SECOND);
  const { command_id } = await startRun(world);
  socket.call(2, 'sync', syncInput());
  socket.call(3, 'control', { command_id, execution_id: uuid(7), phase: 'starting', hold_ms: 0 });
  await world.clock.advance(SECOND);
  return { socket, command_id };
}

t.test('a call that comes after the last answers is not served, and the end says why', async (t) => {
  const world = await createTestRelay();
  const { socket } = await busy(world, { confirmsEnd: false });
  const drained = world.relay.drain();
  await world.clock.advance(1);
  t.equal(socket.did.at(-1), 'close 1012');
  const before = [...socket.did];
  socket.call(9, 'sync', syncInput());
  await world.clock.advance(100);
  t.strictSame(socket.did, before);
  await world.settle(drained);
});

t.test('a desktop that confirms nothing, or reads nothing, holds up the end for a second', async (t) => {
  const world = await createTestRelay();
  const { socket } = await busy(world, { confirmsEnd: false });
  const before = world.clock.monotonic();
  await world.settle(world.relay.drain());
  t.equal(world.clock.monotonic() - before, SOCKET_CLOSE_MS);
  t.strictSame(socket.did.slice(-2), ['close 1012', 'terminate']);
});

t.test('an answer that never comes holds up the end for a second', async (t) => {
  const world = await createTestRelay();
  const desktopId = world.relay.access.desktopOf(world.desktops[0]!)!.desktopId;
  const socket = new ScriptedServerSocket();
  world.relay.acceptSocket(socket, desktopId, { serve: (served) => served.began(1) });
  const before = world.clock.monotonic();
  await world.settle(world.relay.drain());
  t.equal(world.clock.monotonic() - before, SOCKET_CLOSE_MS);
  t.strictSame(socket.did, ['close 1012']);
});

t.test('several calls in one frame are each answered before the end, and garbage is not waited for', async (t) => {
  const world = await createTestRelay();
  const socket = connect(world);
  const probe = (id: number) => ({ id, method: 'mutation', params: { path: 'relay.probe', input: HOLD } });
  socket.says([probe(1), probe(2)]);
  for (const garbage of ['{', 'null', '[]', '{"id":7}', '{"id":null,"method":"mutation"}']) socket.says(garbage);
  await world.clock.advance(1);
  const before = world.clock.monotonic();
  await world.settle(world.relay.drain());
  t.equal(world.clock.monotonic(), before);
  const sent = socket.did.filter((each) => /^sent \d/.test(each)).sort();
  t.strictSame(sent, ['sent 1', 'sent 2']);
  t.equal(socket.did.at(-1), 'close 1012');
});

t.test('when the disk refuses, the sockets end all the same', async (t) => {
  const world = await createTestRelay();
  const { socket } = await busy(world);
  world.failWrites('the disk is full');
  await t.rejects(startRun(world, { n: 1 }), { code: 'store-unavailable' });
  await t.rejects(world.settle(world.relay.drain()), { code: 'store-unavailable' });
  t.equal(socket.did.at(-1), 'close 1012');
});

t.test('our desktops hear when to come back, and do so within the spread, without an error (C17)', async (t) => {
  const count = 20;
  const world = await createTestRelay({ desktops: count });
  let serving = world;
  const dials: number[] = [];
  const errors: string[] = [];
  const note = (event: string) => void errors.push(event);
  const log: Log = { debug() {}, info() {}, warn: note, error: note };
  for (const [place, token] of world.desktops.entries()) {
    const { clock } = world;
    const graph = { ...session(place + 1), file_name: 'graph.js', problem: null };
    const agent = createAgent({
      ports: { ...world.ports, log },
      mode: 'websocket',
      dialers: createDialers({
        url: 'http://relay.test',
        token: () => token,
        clock,
        fetch: () => Promise.reject(new Error('a desktop on a WebSocket makes no request')),
        open(...given) {
          dials.push(clock.monotonic());
          return simulatedSocket({ clock, delayMs: () => 5, relay: serving.relay, token })(...given);
        },
      }),
      store: createMemoryState<DesktopTables>({ tables: DESKTOP_TABLES, clock }),
      library: { list: () => [graph], load: async () => ({ name: graph.file_name, source: '' }) },
      engine: createTimedEngine({ clock, runMs: () => SECOND }),
    });
    await world.settle(agent.sharing.share(PROJECT, graph.graph_session_id));
    void agent.run();
  }
  await world.clock.advance(5 * SECOND);
  t.equal(dials.length, count);
  const start = world.clock.monotonic();
  await world.settle(world.relay.drain());
  const goneAt = world.clock.monotonic();
  serving = await createTestRelay({ after: { image: world.crash(), of: world }, seed: 2 });
  await world.clock.advance(30 * SECOND);
  const back = dials.slice(count);
  t.equal(back.length, count, 'each came back once');
  t.ok(goneAt - start < DRAIN_SPREAD_MS);
  t.ok(Math.max(...back) <= goneAt + count * RECONNECT_STEP_MS + 50);
  t.equal(new Set(back).size, count, 'each at its own moment');
  t.strictSame(errors, []);
});
