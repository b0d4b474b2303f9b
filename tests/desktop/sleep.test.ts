/** A machine that sleeps, in virtual time: what callers see, what it costs, and how soon the desktop is back. */
import t from 'tap';
import { type SocketWireOptions, socketsOver } from '../../bench/sim/faults/socket-wire.ts';
import { CALM, Sky } from '../../bench/sim/faults/weather.ts';
import { History } from '../../bench/sim/history.ts';
import { Life, Machine } from '../../bench/sim/hosts/machine.ts';
import { seededRandom } from '../../bench/sim/seeded.ts';
import { createTimedEngine } from '../../bench/sim/timed-engine.ts';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { createWorld, type World } from '../../bench/sim/world.ts';
import { createAgent } from '../../desktop-agent/agent.ts';
import { createDialers } from '../../desktop-agent/dialer/dialers.ts';
import { STILL_AWAKE_MS } from '../../desktop-agent/machine-sleep.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../desktop-agent/rows.ts';
import { createMemoryState } from '../../protocol/host/state/memory-state.ts';
import type { Log } from '../../protocol/ports.ts';
import { createTestRelay, PROJECT, readRun, SECOND, session, startRun } from '../contract/support.ts';
import { desktopOn, ScriptedPath } from '../faults/scripted-path.ts';

const MINUTE = 60 * SECOND;
const MODES = ['long-poll', 'websocket', 'plain'] as const;

async function presence({ relay, caller, projectId }: World) {
  const { sessions } = await relay.agents.listSessions(caller, { project_id: projectId, limit: 1 });
  return sessions[0]!.desktop;
}

function queue({ clock, relay, caller, desktops }: World) {
  const graph_session_id = desktops[0]!.graphSessionId;
  const idempotency_key = `key-at-${clock.monotonic()}`;
  return clock.settle(relay.agents.runSession(caller, { graph_session_id, arguments: {}, idempotency_key }));
}

for (const mode of MODES) {
  t.test(`a desktop whose machine goes to sleep is asleep since then, and back at the word (${mode})`, async (t) => {
    const world = await createWorld({ seed: 5, desktops: [{ mode, runMs: () => SECOND }], networkMs: 20 });
    const { clock } = world;
    const { agent, happenings } = world.desktops[0]!;
    await clock.advance(5 * SECOND);
    const wordAt = clock.now();
    t.equal(await clock.settle(agent.asleep()), true);
    t.ok(clock.now() - wordAt < 100, 'one trip');
    const asleep = await presence(world);
    t.match(asleep, { online: false, since: null, transport: null, asleep: true });
    t.ok(Math.abs(Date.parse(asleep.asleep_since!) - wordAt) < 100);
    t.match(agent.snapshot(), { connected: false, trouble: /about to sleep/ });

    const ticket = await queue(world);
    t.match(ticket.desktop, { asleep: true, asleep_since: asleep.asleep_since });
    await clock.advance(STILL_AWAKE_MS - SECOND);
    t.equal(happenings.length, 0, 'it asks for nothing');

    const wokeAt = clock.monotonic();
    agent.awake();
    await clock.advance(SECOND);
    const back = await presence(world);
    t.match(back, { online: true, asleep: false, transport: mode });
    t.notOk('asleep_since' in back);
    if (mode === 'plain') await clock.advance(20 * SECOND);
    t.equal(happenings.length, 1);
    if (mode !== 'plain') t.ok(happenings[0]!.startedAt - wokeAt < 200, 'at once');
  });
}

t.test('a machine that was kept awake has its desktop back after a minute', async (t) => {
  const world = await createWorld({ seed: 6, desktops: [{ runMs: () => SECOND }], networkMs: 20 });
  await world.clock.advance(5 * SECOND);
  await world.clock.settle(world.desktops[0]!.agent.asleep());
  await world.clock.advance(STILL_AWAKE_MS - SECOND);
  t.match(await presence(world), { online: false, asleep: true });
  await world.clock.advance(2 * SECOND);
  t.match(await presence(world), { online: true, asleep: false });
});

t.test('what wakes the loop otherwise does not end a sleep, and the word may come twice', async (t) => {
  const world = await createWorld({ seed: 7, desktops: [{ runMs: () => SECOND }], networkMs: 20 });
  const { agent } = world.desktops[0]!;
  await world.clock.settle(agent.asleep());
  agent.libraryChanged();
  await world.clock.settle(agent.asleep());
  await world.clock.advance(10 * SECOND);
  t.match(await presence(world), { online: false, asleep: true });
  await world.clock.settle(agent.drain(SECOND));
  t.match(await presence(world), { online: false, asleep: false }, 'one that stops is not asleep any more');
});

t.test('a run goes on until the machine sleeps, and its end is delivered', async (t) => {
  const world = await createWorld({ seed: 8, desktops: [{ runMs: () => 10 * SECOND }], networkMs: 20 });
  const { command_id } = await queue(world);
  await world.clock.advance(SECOND);
  await world.clock.settle(world.desktops[0]!.agent.asleep());
  await world.clock.advance(15 * SECOND);
  const request = { command_id, waitMs: 0, signal: new AbortController().signal };
  const run = await world.clock.settle(world.relay.agents.getRun(world.caller, request));
  t.match(run, { status: 'completed', desktop: { online: false, asleep: true } });
});

t.test('a relay that is not there holds up a sleep for a second at most', async (t) => {
  const path = new ScriptedPath(new VirtualClock());
  path.cutAfterMs = -1;
  path.cutBy = 'silence';
  const { agent } = desktopOn(path);
  await path.clock.advance(100);
  const before = path.clock.monotonic();
  t.equal(await path.clock.settle(agent.asleep()), false);
  t.ok(path.clock.monotonic() - before <= SECOND);
});

t.test('on waking the first choice is tried at once, whatever the desktop had fallen back to', async (t) => {
  const path = new ScriptedPath(new VirtualClock());
  path.cutAfterMs = 2 * SECOND;
  const { agent } = desktopOn(path);
  await path.clock.advance(MINUTE);
  t.equal(agent.snapshot().transport.transport, 'websocket');
  await path.clock.settle(agent.asleep());
  path.cutAfterMs = Number.POSITIVE_INFINITY;
  const wokeAt = path.clock.monotonic();
  agent.awake();
  await path.clock.advance(100);
  t.match(agent.snapshot(), { connected: true, transport: { transport: 'long-poll', reason: /woke from sleep/ } });
  const [first] = path.requests.filter(({ at }) => at >= wokeAt);
  t.match(first, { call: 'sync', over: 'long-poll', holdMs: 0 });
});

/** Our desktop on a WebSocket, on a machine that can really sleep: its timers and its kernel do. */
async function onSleepyMachine() {
  const silent: string[] = [];
  const info: Log['info'] = (event) => {
    if (event === 'socket.fell-silent') silent.push(event);
  };
  const world = await createTestRelay({ log: { debug() {}, info, warn() {}, error() {} } });
  const { clock, relay } = world;
  const machine = new Machine(clock);
  const life = new Life(machine, 'desktop');
  const graph = { ...session(1), file_name: 'graph.js', problem: null };
  const { desktopId } = relay.access.desktopOf(world.desktops[0]!)!;
  const relayLife = new Life(new Machine(clock), 'relay');
  const wire: SocketWireOptions = {
    clock,
    history: new History(clock, { traced: false }),
    sky: new Sky(CALM),
    site: {
      life: () => relayLife,
      refusal: () => null,
      accept: (socket) => relay.acceptSocket(socket, desktopId),
    },
    caller: 'desktop',
    newRandom: () => seededRandom(3),
  };
  const dialled = { times: 0 };
  const open = socketsOver(wire, life);
  const started: string[] = [];
  const agent = createAgent({
    ports: { ...world.ports, clock: life },
    mode: 'websocket',
    dialers: createDialers({
      url: 'http://relay.test',
      token: () => world.desktops[0]!,
      clock: life,
      fetch: () => Promise.reject(new Error('a desktop on a WebSocket makes no request')),
      open(...given) {
        dialled.times++;
        return open(...given);
      },
    }),
    store: createMemoryState<DesktopTables>({ tables: DESKTOP_TABLES, clock: life }),
    library: { list: () => [graph], load: async () => ({ name: graph.file_name, source: '' }) },
    engine: createTimedEngine({
      clock: life,
      runMs: () => 30 * SECOND,
      onStart: ({ commandId }) => started.push(commandId),
    }),
  });
  await world.settle(agent.sharing.share(PROJECT, graph.graph_session_id));
  void agent.run();
  await clock.advance(SECOND);
  return { ...world, machine, desktop: agent, silent, dialled, started };
}

t.test('a machine that falls asleep in a run without a word is ended once and loses nothing (C14)', async (t) => {
  const world = await onSleepyMachine();
  const running = await startRun(world);
  await world.clock.advance(5 * SECOND);
  t.equal(world.started.length, 1);
  world.machine.sleep();
  await world.clock.advance(20 * SECOND);
  t.match(await readRun(world, running.command_id), { status: 'running', desktop: { online: false, asleep: null } });
  const waiting = await startRun(world);
  await world.clock.advance(9 * MINUTE);
  t.equal(world.silent.length, 1);
  t.equal(world.dialled.times, 1);

  world.machine.wake();
  await world.clock.advance(2 * MINUTE);
  for (const { command_id } of [running, waiting]) {
    t.match(await readRun(world, command_id), { status: 'completed', desktop: { online: true } });
  }
  t.strictSame(world.started, [running.command_id, waiting.command_id], 'each once');
  t.equal(world.silent.length, 1, 'the new connection is not taken for the old one');
});

t.test('a machine that said so keeps its one new connection after waking', async (t) => {
  const world = await onSleepyMachine();
  await world.settle(world.desktop.asleep());
  world.machine.sleep();
  await world.clock.advance(30 * MINUTE);
  world.machine.wake();
  world.desktop.awake();
  await world.clock.advance(MINUTE);
  t.equal(world.dialled.times, 2, 'the look at the clocks does not give it up a second time');
  t.match(world.desktop.snapshot(), { connected: true });
});
