/** The dialer over HTTP: deadlines, what each failure of a fetch means, and that no call waits for another. */
import t from 'tap';
import { type Fetch, simulatedFetch } from '../../bench/sim/network.ts';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { createHttpDialer } from '../../desktop-agent/dialer/http-dialer.ts';
import type { Dialer } from '../../desktop-agent/ports.ts';
import { DEADLINE_MARGIN_MS } from '../../protocol/limits.ts';
import type { CompleteInput, ControlInput, SyncInput } from '../../protocol/schemas.ts';
import { connectedSite, queue, startedRun } from '../server/support.ts';
import { startDesktop } from './support.ts';

const UUID = '0b5c3f0e-52a4-4b6f-9b7e-0d7c6f3a1e22';
const SYNC: SyncInput = { instance_id: UUID, projects: [], holding: [], capacity: 1, hold_ms: 20_000 };
const CONTROL: ControlInput = { command_id: UUID, execution_id: UUID, phase: 'starting', hold_ms: 0 };
const COMPLETE: CompleteInput = { command_id: UUID, execution_id: UUID, status: 'completed' };
const never = new AbortController().signal;

function dialerOver(fetch: Fetch, clock = new VirtualClock(), token = () => 'grd_token'): Dialer {
  return createHttpDialer({ url: 'http://relay.test', token, clock, fetch, transport: 'long-poll' });
}

/** What a real fetch does when nobody answers: nothing, until it is taken back. */
const silent: Fetch = (_input, init) =>
  new Promise((_, reject) => {
    init?.signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')));
  });

function systemError(code: string): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(`${code} it broke`), { code }) });
}

function answered(body: string | ReadableStream, status = 200, type = 'application/json'): Fetch {
  return async () => new Response(body, { status, headers: { 'content-type': type } });
}

function brokenBody(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"result":{"da'));
      controller.error(new TypeError('terminated'));
    },
  });
}

const HTML = '<html><head><title>504 Gateway Time-out</title></head><body>nginx</body></html>';
const WRONG_SHAPE = '{"result":{"data":{"status":"ok"}}}';

const FAILURES: Readonly<Record<string, [fetch: () => Fetch, code: string]>> = {
  'a reset connection': [() => () => Promise.reject(systemError('ECONNRESET')), 'unreachable'],
  'a broken pipe': [() => () => Promise.reject(systemError('EPIPE')), 'unreachable'],
  'a refused connection': [() => () => Promise.reject(systemError('ECONNREFUSED')), 'unreachable'],
  'a name that does not resolve': [() => () => Promise.reject(systemError('ENOTFOUND')), 'unreachable'],
  'a resolver that is busy': [() => () => Promise.reject(systemError('EAI_AGAIN')), 'unreachable'],
  'a TLS alert': [() => () => Promise.reject(systemError('ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR')), 'unreachable'],
  'an expired certificate': [() => () => Promise.reject(systemError('CERT_HAS_EXPIRED')), 'unreachable'],
  'a GOAWAY': [() => () => Promise.reject(systemError('ERR_HTTP2_GOAWAY_SESSION')), 'unreachable'],
  'a library timeout': [() => () => Promise.reject(systemError('UND_ERR_HEADERS_TIMEOUT')), 'unreachable'],
  'an AbortError that nobody asked for': [
    () => () => Promise.reject(new DOMException('x', 'AbortError')),
    'unreachable',
  ],
  'a thrown string': [() => () => Promise.reject('odd'), 'unreachable'],
  'an HTML page with status 504': [() => answered(HTML, 504, 'text/html'), 'not-a-relay'],
  'an HTML page with status 200': [() => answered(HTML, 200, 'text/html'), 'not-a-relay'],
  'an HTML page that says that it is JSON': [() => answered(HTML, 200), 'not-a-relay'],
  'an empty answer': [() => answered('', 200), 'not-a-relay'],
  'a truncated answer': [() => answered('{"result":{"da', 200), 'not-a-relay'],
  'another JSON': [() => answered(WRONG_SHAPE, 200), 'not-a-relay'],
  'an error of another system': [() => answered('{"error":"rate limited"}', 429), 'not-a-relay'],
  'a JSON null': [() => answered('null', 502), 'not-a-relay'],
};

for (const [name, [fetchOf, code]] of Object.entries(FAILURES)) {
  t.test(`${name} is told as ${code}, in each of the three calls (C36)`, async (t) => {
    const dialer = dialerOver(fetchOf());
    await t.rejects(dialer.sync(SYNC, { signal: never }), { name: 'RelayError', code });
    await t.rejects(dialer.control(CONTROL, { signal: never }), { name: 'RelayError', code });
    await t.rejects(dialer.complete(COMPLETE, { signal: never }), { name: 'RelayError', code });
  });

  t.test(`a completion survives ${name} and is delivered afterwards (C36)`, async (t) => {
    const { site, agent, desk } = await connectedSite();
    const commandId = await startedRun({ site, agent, desk });
    let fails = true;
    const dialer = dialerOver(
      (input, init) => (fails ? fetchOf()(input, init) : site.relay.fetch(new Request(input, init))),
      site.clock,
      () => desk.token,
    );
    const desktop = await startDesktop({}, () => dialer);
    const completion = { ...COMPLETE, command_id: commandId, execution_id: desk.execution(commandId), result: 'done' };
    const row = { executionId: completion.execution_id, commandId, completion, finishedAt: 0, refused: null };
    await desktop.store.commit([{ table: 'outbox', id: row.executionId, row }]);
    await desktop.clock.advance(30_000);
    t.equal(desktop.agent.snapshot().outbox.pending, 1, 'kept');
    t.equal(desktop.agent.snapshot().outbox.refused.length, 0);
    fails = false;
    await desktop.clock.advance(60_000);
    t.equal(desktop.agent.snapshot().outbox.pending, 0);
    const row2 = site.store.rows('command').get(commandId);
    t.match(row2, { status: 'completed', result: 'stored' });
  });
}

t.test('a body that breaks off is no answer, whatever came before (C36)', async (t) => {
  const dialer = dialerOver(
    async () => new Response(brokenBody(), { headers: { 'content-type': 'application/json' } }),
  );
  await t.rejects(dialer.complete(COMPLETE, { signal: never }), { name: 'RelayError', retry: 'backoff' });
});

t.test('a call that is never answered is given up five seconds after its hold, each time (C13)', async (t) => {
  const clock = new VirtualClock();
  const dialer = dialerOver(silent, clock);
  const calls: [() => Promise<unknown>, number][] = [
    [() => dialer.sync(SYNC, { signal: never }), 20_000],
    [() => dialer.sync({ ...SYNC, hold_ms: 0 }, { signal: never }), 0],
    [() => dialer.control({ ...CONTROL, phase: 'running', hold_ms: 3_000 }, { signal: never }), 3_000],
    [() => dialer.control(CONTROL, { signal: never }), 0],
    [() => dialer.complete(COMPLETE, { signal: never }), 0],
  ];
  for (const [call, holdMs] of calls) {
    const before = clock.monotonic();
    await t.rejects(clock.settle(call()), { code: 'deadline-exceeded' });
    t.equal(clock.monotonic() - before, holdMs + DEADLINE_MARGIN_MS);
  }
});

t.test('an answer whose body never ends is given up as well (C13)', async (t) => {
  const clock = new VirtualClock();
  const dialer = dialerOver(async (_input, init) => {
    const body = new ReadableStream({
      start: (controller) => init?.signal?.addEventListener('abort', () => controller.error(new Error('aborted'))),
    });
    return new Response(body, { headers: { 'content-type': 'application/json' } });
  }, clock);
  await t.rejects(clock.settle(dialer.complete(COMPLETE, { signal: never })), { code: 'deadline-exceeded' });
  t.equal(clock.monotonic(), DEADLINE_MARGIN_MS);
});

t.test('a dead hold or ack does not stop the desktop: it gives up and goes on (C13, C29)', async (t) => {
  const clock = new VirtualClock();
  let requests = 0;
  const dialer = dialerOver((input, init) => {
    requests++;
    return silent(input, init);
  }, clock);
  const desktop = await startDesktop({}, () => ({
    ...dialer,
    sync: (input, options) => (input.hold_ms > 0 ? dialer.sync(input, options) : desktop.relay.sync(input, options)),
  }));
  // The dialer's clock is its own here; both move together.
  for (let second = 0; second < 120; second++) {
    await desktop.clock.advance(1_000);
    await clock.advance(1_000);
  }
  t.ok(requests >= 4, `${requests} held requests in two minutes`);
  t.match(desktop.lines.find(({ event }) => event === 'relay.hold-cut')?.fields, { code: 'deadline-exceeded' });
});

t.test('a call that its caller takes back ends at once and leaves no timer', async (t) => {
  const clock = new VirtualClock();
  const abort = new AbortController();
  const call = dialerOver(silent, clock).sync(SYNC, { signal: abort.signal });
  await clock.advance(1_000);
  abort.abort();
  await t.rejects(clock.settle(call), { code: 'unreachable' });
  t.equal(clock.monotonic(), 1_000);
  await t.rejects(dialerOver(silent, clock).sync(SYNC, { signal: abort.signal }), { name: 'RelayError' });
  const events = clock.events;
  await clock.advance(60_000);
  t.equal(clock.events, events);
});

t.test(
  'a completion in the turn of a hold is answered while the hold goes on, in a request of its own (C103)',
  async (t) => {
    const { site, agent, desk } = await connectedSite();
    const commandId = await startedRun({ site, agent, desk });
    await queue(site, agent);
    const paths: string[] = [];
    const network = simulatedFetch(site.clock, { delayMs: () => 10 }, (request) => {
      paths.push(new URL(request.url).pathname + new URL(request.url).search);
      return site.relay.fetch(request);
    });
    const dialer = dialerOver(network, site.clock, () => desk.token);
    const sync = { ...SYNC, instance_id: desk.instance, capacity: 0, holding: [commandId] };
    let held = true;
    void dialer.sync(sync, { signal: never }).then(() => {
      held = false;
    });
    const ids = { command_id: commandId, execution_id: desk.execution(commandId) };
    const before = site.clock.monotonic();
    const both = Promise.all([
      dialer.complete({ ...ids, status: 'completed', result: 1 }, { signal: never }),
      dialer.control({ ...ids, phase: 'running', hold_ms: 0 }, { signal: never }),
    ]);
    await site.clock.settle(both);
    t.equal(site.clock.monotonic() - before, 20, 'one trip each');
    t.equal(held, true);
    t.same(paths.sort(), ['/trpc/relay.complete', '/trpc/relay.control', '/trpc/relay.sync']);
  },
);

t.test('each call carries the token of this moment and the name of its transport', async (t) => {
  const seen: (string | null)[] = [];
  let token = 'grd_first';
  const dialer = dialerOver(
    async (_input, init) => {
      const headers = new Headers(init?.headers);
      seen.push(headers.get('authorization'), headers.get('x-graph-relay-transport'));
      throw new Error('enough');
    },
    new VirtualClock(),
    () => token,
  );
  await t.rejects(dialer.control(CONTROL, { signal: never }));
  token = 'grd_second';
  await t.rejects(dialer.control(CONTROL, { signal: never }));
  t.same(seen, ['Bearer grd_first', 'long-poll', 'Bearer grd_second', 'long-poll']);
});

t.test("the relay's own refusals arrive with their codes, and no token is in any error", async (t) => {
  const { site, desk } = await connectedSite();
  const over = (token: string) =>
    dialerOver(
      (i, init) => site.relay.fetch(new Request(i, init)),
      site.clock,
      () => token,
    );
  const error = await over('grd_wrong')
    .sync(SYNC, { signal: never })
    .catch((caught: unknown) => caught);
  t.match(error, { code: 'unauthorized' });
  t.notMatch(JSON.stringify([String(error), (error as Error).stack]), /grd_wrong/);
  const unknown = over(desk.token).complete(COMPLETE, { signal: never });
  await t.rejects(site.clock.settle(unknown), { code: 'unknown-command' });
  const bad = over(desk.token).control({ ...CONTROL, command_id: 'no id' }, { signal: never });
  await t.rejects(site.clock.settle(bad), { code: 'invalid-input' });
});

t.test("a proxy's page is told with its status, and not a word of it is taken for an answer (C01)", async (t) => {
  const lying = `${HTML}<script>{"result":{"data":{"cancel":false,"reason":null}}}</script>`;
  const dialer = dialerOver(answered(lying, 504, 'text/html'));
  await t.rejects(dialer.control(CONTROL, { signal: never }), { message: /answered with status 504/ });
  const disguised = dialerOver(answered('{"result":{"data":{"cancel":false,"reason":null}}}', 200, 'text/plain'));
  await t.rejects(disguised.control(CONTROL, { signal: never }), { code: 'not-a-relay' });
});
