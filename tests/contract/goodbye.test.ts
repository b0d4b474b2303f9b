import t from 'tap';
import { simulatedFetch } from '../../bench/sim/network.ts';
import { createTimedEngine } from '../../bench/sim/timed-engine.ts';
import { type Agent, createAgent } from '../../desktop-agent/agent.ts';
import { createDialers } from '../../desktop-agent/dialer/dialers.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../desktop-agent/rows.ts';
import { createMemoryState } from '../../protocol/host/state/memory-state.ts';
import type { StateStore } from '../../protocol/ports.ts';
import { createTestRelay, PROJECT, readRun, SECOND, session, startRun, type TestRelay } from './support.ts';

/** One start of our desktop, with the disk of the ones before. */
function startDesktop(world: TestRelay, store: StateStore<DesktopTables>, started: string[]): Agent {
  const { clock, ports, relay, desktops } = world;
  const graph = { ...session(1), file_name: 'graph-1.js', problem: null };
  const agent = createAgent({
    ports,
    dialers: createDialers({
      url: 'http://relay.test',
      token: () => desktops[0]!,
      clock,
      fetch: simulatedFetch(clock, { delayMs: () => 20 }, relay.fetch),
      open: () => ({ send() {}, terminate() {} }),
    }),
    store,
    library: { list: () => [graph], load: async () => ({ name: graph.file_name, source: '' }) },
    engine: createTimedEngine({ clock, runMs: () => 2 * SECOND, onStart: ({ commandId }) => started.push(commandId) }),
  });
  void agent.run();
  return agent;
}

t.test('a desktop that quits with 50 runs queued takes no more, and all of them run once (C42)', async (t) => {
  const world = await createTestRelay();
  const store = createMemoryState<DesktopTables>({ tables: DESKTOP_TABLES, clock: world.clock });
  const started: string[] = [];
  const first = startDesktop(world, store, started);
  await world.settle(first.sharing.share(PROJECT, session(1).graph_session_id));
  await world.clock.advance(SECOND);
  const queued: string[] = [];
  for (let n = 0; n < 50; n++) queued.push((await startRun(world)).command_id);
  await world.clock.advance(5 * SECOND);
  await world.settle(first.drain(10 * SECOND));
  const before = started.length;
  t.ok(before >= 2 && before < 5, `${before} had run`);
  await world.clock.advance(60 * SECOND);
  t.equal(started.length, before, 'nothing is started after the goodbye');
  const waiting = await readRun(world, queued[before]!);
  t.match(waiting, { status: 'queued', desktop: { online: false, asleep: false } });
  startDesktop(world, store, started);
  await world.clock.advance(200 * SECOND);
  t.strictSame(started, queued, 'each once, in order');
  for (const id of queued) t.equal((await readRun(world, id)).status, 'completed');
});
