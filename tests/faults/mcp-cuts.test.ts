/** MCP calls whose connection is cut or dropped: no run twice, no new session, no new login. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import t, { type Test } from 'tap';
import type { RunTicket, RunView } from '../../server/agent-api.ts';
import { type FaultProxy, type Faults, startFaultProxy } from './fault-proxy.ts';
import { type DesktopRig, type RelayRig, startDesktop, startRelay, waitFor } from './rig.ts';

const SECOND = 1_000;
const KEY = 'key-of-the-only-run';

interface Caller {
  readonly relay: RelayRig;
  readonly desktop: DesktopRig;
  readonly proxy: FaultProxy;
  /** What the client asked for: the method of each message, or the path of a request that is none. */
  readonly asked: string[];
  /** Answers that have begun as an event stream. */
  streams(): number;
  /** Lets the runs end that {@link callerOf} was asked to hold. */
  letGo(): void;
  call<Answer>(tool: string, input: object, signal?: AbortSignal): Promise<Answer>;
}

/** The official client behind a proxy, and a desktop that reaches the relay without one. */
async function callerOf(t: Test, options: { mode: 'legacy' | 'auto'; faults?: Faults; holdsRuns?: boolean }) {
  const relay = await startRelay(t);
  const gate = Promise.withResolvers<void>();
  const perform = async (run: { args: Readonly<Record<string, unknown>> }) => {
    if (options.holdsRuns) await gate.promise;
    return run.args;
  };
  const desktop = await startDesktop(t, { url: relay.url, token: await relay.desktopToken(), perform });
  // After the desktop, and so before it: a run that never ends would keep it from stopping.
  t.teardown(() => gate.resolve());
  await desktop.connected();
  const proxy = await startFaultProxy({ target: relay.port, ...(options.faults && { faults: options.faults }) });
  t.teardown(() => proxy.close());
  const asked: string[] = [];
  let streams = 0;
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', proxy.url), {
    authProvider: { token: async () => relay.callerToken },
    fetch: async (url, init) => {
      const { pathname } = new URL(url);
      asked.push(
        pathname === '/mcp' && init?.body ? JSON.parse(String(init.body)).method : `${init?.method} ${pathname}`,
      );
      const response = await fetch(url, init);
      if (response.headers.get('content-type')?.startsWith('text/event-stream')) streams++;
      return response;
    },
  });
  const client = new Client({ name: 'cut', version: '1' }, { versionNegotiation: { mode: options.mode } });
  await client.connect(transport);
  t.teardown(() => client.close());
  const caller: Caller = {
    relay,
    desktop,
    proxy,
    asked,
    streams: () => streams,
    letGo: () => gate.resolve(),
    async call<Answer>(name: string, input: object, signal?: AbortSignal) {
      const call = { name, arguments: input as Record<string, unknown> };
      const result = await client.callTool(call, { ...(signal && { signal }) });
      if (result.isError) throw new Error(JSON.stringify(result.content));
      return result.structuredContent as Answer;
    },
  };
  return caller;
}

function runInput({ desktop }: Caller) {
  return { graph_session_id: desktop.sessionId, arguments: { n: 1 }, idempotency_key: KEY };
}

/** Starts a run, and waits until it goes on. */
async function runningRun(caller: Caller): Promise<string> {
  const { command_id } = await caller.call<RunTicket>('run_graph_session', runInput(caller));
  const isRunning = async () => (await caller.relay.read(command_id)).status === 'running' || null;
  await waitFor('the run', 10 * SECOND, isRunning);
  return command_id;
}

/** What a client asks that has lost its session or its login. */
function newSessions(asked: readonly string[]): string[] {
  return asked.filter((what) => !['tools/call', 'notifications/cancelled'].includes(what));
}

for (const mode of ['legacy', 'auto'] as const) {
  t.test(
    `a start whose answer is lost with its connection is repeated and is the same run (${mode}, C79)`,
    async (t) => {
      const caller = await callerOf(t, { mode });
      caller.proxy.faults = { cutMessage: { way: 'down', containing: '"replayed":false', byte: 0 } };
      await t.rejects(caller.call('run_graph_session', runInput(caller)));
      t.equal(caller.proxy.messagesCut, 1, 'the relay had answered');
      const again = await caller.call<RunTicket>('run_graph_session', runInput(caller));
      t.equal(again.replayed, true);
      t.match(await caller.relay.ended(again.command_id), { status: 'completed', result: { n: 1 } });
      t.same([...caller.desktop.runs], [[again.command_id, 1]], 'one run on the desktop');
    },
  );

  t.test(`a start that is dropped and repeated three times with its key is one run (${mode}, C67)`, async (t) => {
    const caller = await callerOf(t, { mode, holdsRuns: true });
    caller.proxy.faults = {
      cutMessage: { way: 'down', containing: '"replayed":false', byte: 0 },
      cutBy: 'silence',
    };
    const giveUp = new AbortController();
    const dropped = caller.call('run_graph_session', runInput(caller), giveUp.signal);
    const rejected = t.rejects(dropped);
    await waitFor('the answer that nobody gets', 10 * SECOND, async () =>
      caller.proxy.messagesCut === 1 ? true : null,
    );
    giveUp.abort();
    await rejected;
    const tickets = [];
    for (let n = 0; n < 3; n++) tickets.push(await caller.call<RunTicket>('run_graph_session', runInput(caller)));
    const [{ command_id }] = tickets as [RunTicket];
    for (const ticket of tickets) t.match(ticket, { command_id, replayed: true, status: /^(queued|running)$/ });
    caller.letGo();
    t.match(await caller.relay.ended(command_id), { status: 'completed' });
    const last = await caller.call<RunTicket>('run_graph_session', runInput(caller));
    t.match(last, { command_id, replayed: true, status: 'completed', result: { n: 1 } });
    t.same([...caller.desktop.runs], [[command_id, 1]]);
  });

  t.test(`a wait that is cut costs no new session and no new login (${mode}, C04)`, async (t) => {
    const caller = await callerOf(t, { mode, holdsRuns: true });
    const before = caller.asked.length;
    const command_id = await runningRun(caller);
    for (let round = 1; round <= 3; round++) {
      const giveUp = new AbortController();
      const held = caller.call('get_graph_run', { command_id, wait_seconds: 50 }, giveUp.signal).catch(() => 'cut');
      await waitFor('the begin of the answer', 10 * SECOND, async () => caller.streams() === round || null);
      caller.proxy.cutAll();
      // What a client does that hears nothing more.
      giveUp.abort();
      t.equal(await held, 'cut');
      // Pooled connections were cut too: a client finds them one by one.
      const again = () => caller.call<RunView>('get_graph_run', { command_id }).catch(() => null);
      t.match(await waitFor('an answer', 10 * SECOND, again), { status: 'running' });
    }
    t.same(newSessions(caller.asked.slice(before)), []);
  });
}

t.test('a wait outlives a proxy that cuts after 30 s of silence, with one session and one login (C04)', async (t) => {
  /** Side by side, since waiting is all they do. */
  const waits = (['legacy', 'auto'] as const).map(async (mode) => {
    const caller = await callerOf(t, { mode, faults: { idleMs: 30 * SECOND }, holdsRuns: true });
    const before = caller.asked.length;
    const command_id = await runningRun(caller);
    const view = await caller.call<RunView>('get_graph_run', { command_id, wait_seconds: 36 });
    return { mode, view, asked: caller.asked.slice(before) };
  });
  for (const { mode, view, asked } of await Promise.all(waits)) {
    t.match(view, { status: 'running' }, `${mode}: answered by the relay, and not by the proxy`);
    t.same(asked, ['tools/call', 'tools/call'], mode);
  }
});
