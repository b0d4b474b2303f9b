/** A relay that ends and comes back under its desktops: work goes on within seconds, over the same transport. */
import t from 'tap';
import { later, startDesktop, startRelay } from './rig.ts';

for (const mode of ['auto', 'websocket'] as const) {
  for (const gracefully of [true, false]) {
    const how = gracefully ? 'stopped' : 'killed';
    t.test(
      `a relay that is ${how} and started twice gets the next job through each time (${mode}, C101)`,
      async (t) => {
        const relay = await startRelay(t);
        const desktop = await startDesktop(t, { url: relay.url, token: await relay.desktopToken(), mode });
        await desktop.connected();
        const before = desktop.agent.snapshot().transport;
        for (const downMs of [0, 1_500]) {
          await later(300);
          await relay.restart({ downMs, gracefully });
          const from = performance.now();
          const id = await relay.queue(desktop.sessionId);
          t.equal((await relay.ended(id)).status, 'completed');
          const ms = performance.now() - from;
          t.comment(`the job after a pause of ${downMs} ms had run after ${Math.round(ms)} ms`);
          t.ok(ms < 12_000, 'within the longest spread of a reconnect');
          t.equal(desktop.runs.get(id), 1);
        }
        t.match(desktop.agent.snapshot().transport, { transport: before.transport, hold_ms: before.hold_ms });
        t.ok(desktop.agent.snapshot().connected);
      },
    );
  }
}
