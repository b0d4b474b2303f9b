/** Tools in their slowest form, for clients that give a call up after 60 s and know nothing of progress. */
import t from 'tap';
import { TOOLS } from '../../server/mcp/tools.ts';
import { startWholeDesktop } from './desktop.ts';
import { callTool } from './mcp-caller.ts';
import { createTestRelay, HOUR, SECOND, session, startRun, syncInput, type TestRelay, uuid } from './support.ts';

/** What common clients allow a call. */
const CLIENT_LIMIT_MS = 60 * SECOND;

/** A run that never ends, on a relay whose disk takes a second for each write. */
async function endlessRun(): Promise<{ world: TestRelay; command_id: string }> {
  const world = await createTestRelay({ diskMs: SECOND });
  await world.settle(world.trpc('sync', syncInput({ capacity: 0 })));
  const { command_id } = await startRun(world);
  const control = { command_id, execution_id: uuid(7), phase: 'starting', hold_ms: 0 };
  await world.settle(world.trpc('control', control));
  await world.clock.advance(5 * SECOND);
  return { world, command_id };
}

t.test(
  'each tool in its slowest form answers well before a client gives up, with a state and the way on (C66)',
  async (t) => {
    const { world, command_id } = await endlessRun();
    const run = { graph_session_id: session(1).graph_session_id, idempotency_key: 'key-number-1' };
    const calls: Readonly<Record<string, object>> = {
      list_graph_sessions: {},
      run_graph_session: run,
      get_graph_run: { command_id, wait_seconds: 1e9 },
      cancel_graph_run: { command_id },
    };
    t.same(Object.keys(calls).sort(), [...TOOLS.keys()].sort(), 'all tools');
    for (const [name, input] of Object.entries(calls)) {
      const { isError, data, tookMs } = await callTool(world, name, input);
      t.equal(isError, false, name);
      t.ok(tookMs < CLIENT_LIMIT_MS - 5 * SECOND, `${name} took ${tookMs} ms`);
      if (name !== 'list_graph_sessions') t.match(data, { command_id: String, status: /^(queued|running)$/ }, name);
    }
    t.match(TOOLS.get('run_graph_session')!.listed.description, /get_graph_run/);
    t.match(TOOLS.get('get_graph_run')!.listed.description, /call again with wait_seconds.*cancel_graph_run/);
  },
);

for (const [asked, granted] of [
  [0, 0],
  [1, 1],
  [20, 20],
  [59, 50],
  [600, 50],
  [1e9, 50],
] as const) {
  t.test(
    `a wait of ${asked} s on a run that never ends is over after ${granted} s, and says so (C84, C85)`,
    async (t) => {
      const { world, command_id } = await endlessRun();
      const { data, text, tookMs } = await callTool(world, 'get_graph_run', { command_id, wait_seconds: asked });
      t.equal(tookMs, granted * SECOND);
      t.match(data, { command_id, status: 'running' });
      t.equal(data.wait_seconds_granted, asked === granted ? undefined : granted);
      t.ok(text.length < 1_000, `a still-running answer has ${text.length} characters`);
    },
  );
}

t.test('a run that ends in the wait is answered in that moment, with its end (C85)', async (t) => {
  const world = await createTestRelay();
  await startWholeDesktop(world, { runMs: 30 * SECOND });
  const { command_id } = await startRun(world, { arguments: { n: 1 } });
  await world.clock.advance(10 * SECOND);
  const { data, tookMs } = await callTool(world, 'get_graph_run', { command_id, wait_seconds: 50 });
  t.match(data, { status: 'completed', result: { args: { n: 1 } } });
  t.ok(tookMs >= 20 * SECOND - 100 && tookMs < 21 * SECOND, `after ${tookMs} ms`);
});

for (const laterMs of [SECOND, HOUR]) {
  t.test(
    `a second equal start ${laterMs / SECOND} s later is a run of its own that points to the first (C78)`,
    async (t) => {
      const world = await createTestRelay();
      await world.settle(world.trpc('sync', syncInput({ capacity: 0 })));
      const run = { graph_session_id: session(1).graph_session_id, arguments: { to: 'everybody' } };
      const none = await callTool(world, 'run_graph_session', run);
      t.equal(none.isError, true);
      t.match(none.text, /^idempotency_key is required\. Nothing was done\./, 'a start without a key is none');
      const first = await callTool(world, 'run_graph_session', { ...run, idempotency_key: 'the-first-key' });
      t.equal(first.data.identical_waiting_run, undefined);
      await world.clock.advance(laterMs);
      const same = await callTool(world, 'run_graph_session', { ...run, idempotency_key: 'the-first-key' });
      t.match(same.data, { command_id: first.data.command_id, replayed: true }, 'the key makes a repeat harmless');
      const second = await callTool(world, 'run_graph_session', { ...run, idempotency_key: 'another-key' });
      t.not(second.data.command_id, first.data.command_id);
      t.equal(second.data.identical_waiting_run, first.data.command_id);
      await callTool(world, 'cancel_graph_run', { command_id: first.data.command_id });
      await callTool(world, 'cancel_graph_run', { command_id: second.data.command_id });
      const third = await callTool(world, 'run_graph_session', { ...run, idempotency_key: 'a-third-key' });
      t.equal(third.data.identical_waiting_run, undefined, 'what has ended is nothing to point to');
    },
  );
}
