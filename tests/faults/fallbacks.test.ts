/** A fallback is a state of this moment: it is no absence, and nothing of it is written down. */
import t from 'tap';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { DESKTOP_TABLES, type DesktopTables } from '../../desktop-agent/rows.ts';
import { createMemoryState } from '../../protocol/host/state/memory-state.ts';
import { desktopOn, ScriptedPath } from './scripted-path.ts';

const SECOND = 1_000;

t.test('holds that are cut at their edge never count as an absence (C02)', async (t) => {
  const path = new ScriptedPath(new VirtualClock());
  Object.assign(path, { cutAfterMs: 19.5 * SECOND, cutBy: 'html-504' });
  const { agent, lines } = desktopOn(path);
  await path.clock.advance(SECOND);
  for (let second = 0; second < 50 * 20; second++) {
    await path.clock.advance(SECOND);
    if (!agent.snapshot().connected) t.fail(`not connected after ${second} s`);
  }
  t.equal(agent.snapshot().transport.holds_cut, 2);
  t.equal(agent.snapshot().trouble, null);
  t.notOk(lines.some(({ event }) => event === 'relay.disconnected'));
});

for (const [fallback, faults] of [
  ['plain', { cutAfterMs: 2 * SECOND, socket: 'refused' }],
  ['websocket', { cutAfterMs: 5 * SECOND }],
] as const) {
  t.test(
    `the fallback to ${fallback} is not written down: the next start begins with the first choice (C08)`,
    async (t) => {
      const path = new ScriptedPath(new VirtualClock());
      Object.assign(path, faults);
      const store = createMemoryState<DesktopTables>({ tables: DESKTOP_TABLES, clock: path.clock });
      const { agent, ended } = desktopOn(path, { store });
      await path.clock.advance(60 * SECOND);
      t.match(agent.snapshot(), { connected: true, transport: { transport: fallback } });
      await path.clock.settle(agent.drain(0));
      t.equal(await ended, 'stopped');
      const disk = store.crash();
      t.notMatch(JSON.stringify(disk), /long-poll|websocket|plain/);

      const restored = createMemoryState<DesktopTables>({ tables: DESKTOP_TABLES, restore: disk });
      const before = path.requests.length;
      const again = desktopOn(path, { store: restored });
      t.match(again.agent.snapshot().transport, {
        transport: 'long-poll',
        reason: 'the first choice',
        hold_ms: 20_000,
      });
      await path.clock.advance(SECOND);
      t.match(path.requests[before], { call: 'sync', over: 'long-poll' });
    },
  );
}
