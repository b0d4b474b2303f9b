/** A production desktop that is refused for asking too often goes on by itself: nothing is lost, and nothing runs twice. */
import t from 'tap';
import { createWorld, type WorldDesktop } from '../../bench/sim/world.ts';
import type { ModeName } from '../../desktop-agent/modes.ts';
import type { Log } from '../../protocol/ports.ts';

const SECOND = 1_000;
const RUNS = 40;

const MODES: readonly ModeName[] = ['long-poll', 'websocket', 'plain'];

for (const mode of MODES) {
  t.test(`all runs of a desktop that meets its limit again and again are run once (${mode})`, async (t) => {
    let limited = 0;
    const warn: Log['warn'] = (event) => {
      if (event === 'door.limited') limited++;
    };
    const world = await createWorld({
      seed: 5,
      desktops: [{ mode, runMs: () => 100 }],
      networkMs: 5,
      diskMs: 1,
      limits: { requestsPerDesktop: 30 },
      log: { debug() {}, info() {}, warn, error() {} },
    });
    const [desktop] = world.desktops as [WorldDesktop];
    const ids: string[] = [];
    for (let n = 0; n < RUNS; n++) {
      const request = {
        graph_session_id: desktop.graphSessionId,
        arguments: { n },
        idempotency_key: `key-${mode}-${n}`,
      };
      ids.push((await world.clock.settle(world.relay.agents.runSession(world.caller, request))).command_id);
    }
    await world.clock.advance(15 * 60 * SECOND);
    t.ok(limited > 0, 'it met the limit');
    t.same(
      desktop.happenings.map(({ commandId }) => commandId),
      ids,
    );
    for (const command_id of ids) {
      const read = { command_id, waitMs: 0, signal: new AbortController().signal };
      t.equal((await world.clock.settle(world.relay.agents.getRun(world.caller, read))).status, 'completed');
    }
  });
}
