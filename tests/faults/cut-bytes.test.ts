/** The connection is cut at every byte of what hands out a command: it runs once, wherever that was. */
import t from 'tap';
import type { ModeName } from '../../desktop-agent/modes.ts';
import { startFaultProxy, type Way } from './fault-proxy.ts';
import { startDesktop, startRelay, startsOf, type Teardown, waitFor } from './rig.ts';

/** Desktops that share the positions between them, each on a proxy of its own. */
const DESKTOPS = 6;

interface Cuts {
  readonly mode: ModeName;
  readonly way: Way;
  /** Tells the message that is cut from others. */
  readonly containing: string;
  /** Every how many bytes. */
  readonly step: number;
  /** Bytes of the message, or more. */
  readonly length: number;
}

/** Queues a run for each position, and cuts the message of that run there. */
async function cutEverywhere(t: Teardown, cuts: Cuts) {
  const relay = await startRelay(t);
  const positions = Array.from({ length: Math.ceil(cuts.length / cuts.step) + 1 }, (_, index) => index * cuts.step);
  const desktops = await Promise.all(
    Array.from({ length: DESKTOPS }, async () => {
      const proxy = await startFaultProxy({ target: relay.port });
      const token = await relay.desktopToken();
      const desktop = await startDesktop(t, { url: proxy.url, token, mode: cuts.mode, jitter: 0.02 });
      // After the desktops: what hangs on the proxy ends first.
      t.teardown(() => proxy.close());
      await desktop.connected();
      return { proxy, desktop };
    }),
  );
  let cut = 0;
  await Promise.all(
    desktops.map(async ({ proxy, desktop }, index) => {
      for (const byte of positions.filter((_, position) => position % DESKTOPS === index)) {
        const before = proxy.messagesCut;
        proxy.faults = {
          cutMessage: { way: cuts.way, containing: cuts.containing, byte },
          cutBy: byte % 2 === 0 ? 'reset' : 'end',
        };
        const id = await relay.queue(desktop.sessionId);
        await relay.ended(id, 20_000);
        await waitFor(
          'the end of the delivery',
          20_000,
          async () => desktop.agent.snapshot().outbox.pending === 0 || null,
        );
        cut += proxy.messagesCut - before;
        proxy.faults = {};
      }
    }),
  );
  const counts = desktops.map(({ desktop }) => startsOf(desktop));
  return {
    positions: positions.length,
    cut,
    started: counts.reduce((sum, { started }) => sum + started, 0),
    twice: counts.reduce((sum, { twice }) => sum + twice, 0),
  };
}

/** The bytes of one message, as it goes over the wire. */
async function lengthOf(t: Teardown, mode: ModeName, containing: string): Promise<number> {
  const relay = await startRelay(t);
  const proxy = await startFaultProxy({
    target: relay.port,
    faults: { cutMessage: { way: 'down', containing, byte: Number.MAX_SAFE_INTEGER } },
  });
  const desktop = await startDesktop(t, { url: proxy.url, token: await relay.desktopToken(), mode });
  t.teardown(() => proxy.close());
  await desktop.connected();
  await relay.ended(await relay.queue(desktop.sessionId));
  return waitFor('the cut message', 5_000, async () => proxy.lastMessageCut || null);
}

t.test('cut at every byte of a sync answer that carries a command, each command runs once', async (t) => {
  const length = await lengthOf(t, 'long-poll', '"command_id"');
  const seen = await cutEverywhere(t, { mode: 'long-poll', way: 'down', containing: '"command_id"', step: 1, length });
  t.comment(`${seen.positions} positions of ${length} bytes`);
  t.ok(length > 300);
  t.equal(seen.cut, seen.positions, 'every position was cut');
  t.match(seen, { started: seen.positions, twice: 0 });
});

t.test('cut at every byte of the same answer on a WebSocket, each command runs once', async (t) => {
  const length = await lengthOf(t, 'websocket', '"command_id"');
  const seen = await cutEverywhere(t, { mode: 'websocket', way: 'down', containing: '"command_id"', step: 1, length });
  t.comment(`${seen.positions} positions of ${length} bytes`);
  t.ok(length > 200);
  t.equal(seen.cut, seen.positions, 'every position was cut');
  t.match(seen, { started: seen.positions, twice: 0 });
});

const SAMPLES: readonly (Omit<Cuts, 'mode' | 'step' | 'length'> & { readonly what: string })[] = [
  { what: 'the request that asks to start', way: 'up', containing: 'POST /trpc/relay.control' },
  { what: 'the answer that lets it start', way: 'down', containing: '"cancel":false' },
  { what: 'the request that brings the result', way: 'up', containing: 'POST /trpc/relay.complete' },
  { what: 'the answer that takes the result', way: 'down', containing: '"stored":true' },
];

for (const { what, way, containing } of SAMPLES) {
  t.test(`cut at a sample of the bytes of ${what}, each command runs once and ends`, async (t) => {
    const seen = await cutEverywhere(t, { mode: 'long-poll', way, containing, step: 17, length: 600 });
    t.equal(seen.cut, seen.positions, 'every position was cut');
    t.match(seen, { started: seen.positions, twice: 0 });
  });
}
