/** Results whose way back was cut: they stay on the desktop until the relay has them, whatever became of the run meanwhile. */
import t from 'tap';
import { LOST_AFTER_MS } from '../../protocol/limits.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { startFaultProxy } from './fault-proxy.ts';
import { startDesktop, startRelay, waitFor } from './rig.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const RESULT = 'x'.repeat(60_000);

t.test(
  'a result that was cut in its WebSocket frame comes an hour later another way, and repairs the loss (C51)',
  async (t) => {
    const clock = new SkippingClock();
    const relay = await startRelay(t, { clock });
    // Holds are cut, so the desktop takes a WebSocket.
    const proxy = await startFaultProxy({ target: relay.port, faults: { answerMs: SECOND } });
    const gate = Promise.withResolvers<void>();
    const perform = async () => {
      await gate.promise;
      return RESULT;
    };
    const token = await relay.desktopToken();
    const desktop = await startDesktop(t, { url: proxy.url, token, perform, jitter: 0.02 });
    t.teardown(() => proxy.close());
    t.teardown(() => gate.resolve());
    await desktop.connected('websocket');
    proxy.faults = {};
    const id = await relay.queue(desktop.sessionId);
    await waitFor('the run', MINUTE, async () => ((await relay.read(id)).status === 'running' ? true : null));

    // Half of the frame with the result gets through, and nothing else is as long.
    proxy.faults = { cutAt: { way: 'up', byte: RESULT.length / 2 } };
    gate.resolve();
    const told = (event: string) =>
      desktop.lines.filter((line) => line.event === event && line.fields.command_id === id);
    await waitFor('the cut', MINUTE, async () => told('outbox.delayed')[0] ?? null);
    proxy.faults = { refuse: true };
    proxy.cutAll();
    t.equal(desktop.agent.snapshot().outbox.pending, 1);

    clock.skip(LOST_AFTER_MS);
    const lost = await waitFor('the loss', MINUTE, async () => {
      const run = await relay.read(id);
      return run.status === 'lost' ? run : null;
    });
    t.match(lost.error, /not been heard of.*its result is still taken/);
    clock.skip(60 * MINUTE);
    // From now on requests get through, and no WebSocket.
    proxy.faults = { stripUpgrade: true };
    const repaired = await waitFor('the result', 2 * MINUTE, async () => {
      const run = await relay.read(id);
      return run.status === 'completed' ? run : null;
    });
    t.match(repaired, { error: null, timing: { transport: 'websocket' } }, 'it had started over the WebSocket');
    t.equal(repaired.result, RESULT);
    await waitFor('an empty outbox', MINUTE, async () => (desktop.agent.snapshot().outbox.pending === 0 ? true : null));
    t.same(desktop.agent.snapshot().outbox.refused, []);
    t.same([...desktop.runs], [[id, 1]]);
  },
);

for (const mode of ['long-poll', 'websocket'] as const) {
  t.test(`a result whose acknowledgement was lost is posted again, and is there already (${mode}, C54)`, async (t) => {
    const relay = await startRelay(t);
    const proxy = await startFaultProxy({ target: relay.port });
    const token = await relay.desktopToken();
    const desktop = await startDesktop(t, { url: proxy.url, token, mode, jitter: 0.02 });
    t.teardown(() => proxy.close());
    await desktop.connected();
    proxy.faults = { cutMessage: { way: 'down', containing: '"stored":true', byte: 0 } };
    const id = await relay.queue(desktop.sessionId, { n: 1 });
    t.match(await relay.ended(id), { status: 'completed', result: { n: 1 } });
    const delivered = () => desktop.lines.find(({ event }) => event === 'outbox.delivered');
    const line = await waitFor('the second answer', MINUTE, async () => delivered() ?? null);
    t.equal(proxy.messagesCut, 1);
    t.match(line.fields, { command_id: id, already: true });
    t.match(desktop.agent.snapshot(), { outbox: { pending: 0, refused: [] }, holding: [] });
    const next = await relay.queue(desktop.sessionId);
    t.equal((await relay.ended(next)).status, 'completed', 'the connection goes on, or another one does');
    t.same([...desktop.runs.values()], [1, 1]);
  });
}
