/** Syncs that are repeated, aborted or lost on the way: what was on its way is offered again at once, and runs once. */
import t from 'tap';
import { seededRandom } from '../../bench/sim/seeded.ts';
import { systemIds } from '../../protocol/host/system-ports.ts';
import { startFaultProxy } from './fault-proxy.ts';
import { later, type RelayRig, startDesktop, startRelay, waitFor } from './rig.ts';
import { type WireDesktop, wireDesktop } from './wire.ts';

const SECOND = 1_000;

/** Waiting is most of what these tests do, so they do it side by side. */
t.jobs = 8;
const BESIDE = { buffered: true };

for (const first of ['left open', 'aborted'] as const) {
  t.test(`the end of a poll that was ${first} never removes the poll that came after it (C20)`, BESIDE, async (t) => {
    const relay = await startRelay(t);
    const desktop = wireDesktop(relay.url, await relay.desktopToken());
    const abort = new AbortController();
    const one = desktop.sync({ hold_ms: 800 }, abort.signal).catch(() => null);
    await later(200);
    const two = desktop.sync({ hold_ms: 5 * SECOND });
    if (first === 'aborted') abort.abort();
    // The time of the first poll is over by then.
    await later(1_000);
    await one;
    const from = performance.now();
    const id = await relay.queue(desktop.sessionId);
    t.match(await two, { commands: [{ command_id: id }] });
    const ms = performance.now() - from;
    t.ok(ms < SECOND, `${ms} ms`);
  });
}

t.test('a job that left with an answer nobody heard is in the answer to the next poll (C22)', BESIDE, async (t) => {
  const relay = await startRelay(t);
  const token = await relay.desktopToken();
  const proxy = await startFaultProxy({ target: relay.port, faults: { delayMs: 100 } });
  t.teardown(() => proxy.close());
  const desktop = wireDesktop(proxy.url, token);
  await desktop.sync();
  const abort = new AbortController();
  const gone = desktop.sync({ hold_ms: 20 * SECOND }, abort.signal).catch(() => 'gone');
  await later(300);
  const id = await relay.queue(desktop.sessionId);
  // The relay has answered, and the answer is in the proxy.
  abort.abort();
  t.equal(await gone, 'gone');
  await later(150);
  const from = performance.now();
  t.match(await desktop.sync(), { commands: [{ command_id: id }] });
  const ms = performance.now() - from;
  t.ok(ms < SECOND, `${ms} ms, without waiting for a limit`);
});

for (const [mode, withinMs] of [
  ['long-poll', 27 * SECOND],
  ['websocket', 17 * SECOND],
] as const) {
  t.test(
    `two jobs that were queued into a black hole arrive in order, once each (${mode}, C14, C23)`,
    BESIDE,
    async (t) => {
      const relay = await startRelay(t);
      const proxy = await startFaultProxy({ target: relay.port });
      const desktop = await startDesktop(t, { url: proxy.url, token: await relay.desktopToken(), mode });
      t.teardown(() => proxy.close());
      await desktop.connected();
      await later(300);
      proxy.swallowOpen();
      const from = performance.now();
      const ids = [await relay.queue(desktop.sessionId), await relay.queue(desktop.sessionId)];
      for (const id of ids) t.equal((await relay.ended(id)).status, 'completed');
      const ms = performance.now() - from;
      t.comment(`both had run ${(ms / SECOND).toFixed(1)} s after the connections died`);
      t.ok(ms < withinMs);
      t.same([...desktop.runs], [...ids.map((id) => [id, 1])]);
    },
  );
}

t.test('an ack that is accepted and never answered holds up neither the run nor the loop (C29)', BESIDE, async (t) => {
  const relay = await startRelay(t);
  const proxy = await startFaultProxy({ target: relay.port });
  const desktop = await startDesktop(t, { url: proxy.url, token: await relay.desktopToken(), mode: 'long-poll' });
  t.teardown(() => proxy.close());
  await desktop.connected();
  await later(300);
  proxy.faults = { cutMessage: { way: 'up', containing: 'POST /trpc/relay.control', byte: 0 }, cutBy: 'silence' };
  const from = performance.now();
  const first = await relay.queue(desktop.sessionId);
  t.equal((await relay.ended(first)).status, 'completed');
  const ms = performance.now() - from;
  t.equal(proxy.messagesCut, 1);
  t.ok(ms > 4.5 * SECOND && ms < 9 * SECOND, `${ms} ms: one deadline, then a new connection`);
  const second = await relay.queue(desktop.sessionId);
  t.equal((await relay.ended(second)).status, 'completed');
  t.same([...desktop.runs.values()], [1, 1]);
});

/** Takes what is offered, as a desktop does; counts the permissions to start. */
async function perform(desktop: WireDesktop, id: string, starts: Map<string, number>): Promise<void> {
  const execution = { command_id: id, execution_id: systemIds.uuid() };
  const answer = await desktop.call('control', { ...execution, phase: 'starting', hold_ms: 0 });
  if ((answer as { cancel: boolean }).cancel) return;
  starts.set(id, (starts.get(id) ?? 0) + 1);
  await desktop.call('complete', { ...execution, status: 'completed', result: id });
}

async function queueAtRandom(relay: RelayRig, desktop: WireDesktop, options: { jobs: number; random: () => number }) {
  const ids: string[] = [];
  for (let job = 0; job < options.jobs; job++) {
    ids.push(await relay.queue(desktop.sessionId));
    await later(options.random() * 60);
  }
  return ids;
}

t.test(
  'polls that are aborted at random moments, 500 times, lose no job and start none twice (C41)',
  BESIDE,
  async (t) => {
    const relay = await startRelay(t);
    const desktop = wireDesktop(relay.url, await relay.desktopToken());
    await desktop.sync();
    const { next: random } = seededRandom(41);
    const starts = new Map<string, number>();
    let longestMs = 0;
    const queued = queueAtRandom(relay, desktop, { jobs: 150, random });
    for (let round = 0; round < 500; round++) {
      const abort = new AbortController();
      const timer = setTimeout(() => abort.abort(), random() * 30);
      const answer = await desktop.sync({ hold_ms: 20 * SECOND }, abort.signal).catch(() => null);
      clearTimeout(timer);
      for (const { command_id, queued_at_ms } of answer?.commands ?? []) {
        longestMs = Math.max(longestMs, Date.now() - queued_at_ms);
        await perform(desktop, command_id, starts);
      }
    }
    const ids = await queued;
    await waitFor('the last jobs', 20 * SECOND, async () => {
      const { commands } = await desktop.sync();
      for (const { command_id } of commands) await perform(desktop, command_id, starts);
      return commands.length === 0 ? true : null;
    });
    for (const id of ids) t.equal((await relay.read(id)).status, 'completed');
    t.same([...new Set(starts.values())], [1]);
    t.equal(starts.size, ids.length);
    t.comment(`the longest wait was ${longestMs} ms`);
    t.ok(longestMs < 10 * SECOND, 'less than the limit of an offer');
  },
);
