import { taskId } from '@modelcontextprotocol/ext-tasks/core';
import t, { type Test } from 'tap';
import { ticketSchema } from '../../server/mcp/tool-output.ts';
import { callTool } from '../contract/mcp-caller.ts';
import { createTestRelay, DAY, SECOND, session, startRun, type TestRelay } from '../contract/support.ts';
import { UNKNOWN_COMMAND } from './fixtures.ts';
import { connectTaskClient, type TaskClient } from './task-client.ts';
import { beginRun, completeRun, startedRun, syncDesktop, useVirtualTimers } from './virtual-client.ts';

const RUN = { graph_session_id: session(1).graph_session_id, idempotency_key: 'key-12345' };

async function worldWithClient(t: Test): Promise<{ world: TestRelay } & TaskClient> {
  const world = await createTestRelay();
  await syncDesktop(world);
  useVirtualTimers(t, world.clock);
  return { world, ...(await clientOf(t, world)) };
}

async function clientOf(t: Test, world: TestRelay, token = world.agentToken): Promise<TaskClient> {
  const connected = await world.settle(connectTaskClient({ fetch: world.relay.fetch, token }));
  t.teardown(() => connected.client.close());
  return connected;
}

t.test(
  'a client that knows tasks starts a run as one, looks as often as it is told, and gets its result',
  async (t) => {
    const { world, session } = await worldWithClient(t);
    const execution = await world.settle(session.callTool('run_graph_session', RUN));
    if (execution.kind !== 'task') throw new Error('Expected a task.');
    const { taskId: command_id } = execution.handle;
    const seen: unknown[] = [];
    const settled = execution.settle({ onEvent: (event) => void (event.type === 'task' && seen.push(event.task.raw)) });
    t.strictSame(await syncDesktop(world), [command_id], 'the task is the run');
    await beginRun(world, command_id);
    await world.clock.advance(63 * SECOND);
    await completeRun(world, command_id);
    const { outcome } = await world.settle(settled);
    t.match(seen, [
      { taskId: command_id, status: 'working', statusMessage: /^Queued for 0 s, next in line; / },
      { status: 'working', statusMessage: /^Running for 10 s\.$/, pollIntervalMs: Number, ttlMs: Number },
      ...Array.from({ length: seen.length - 3 }, () => ({ status: 'working', statusMessage: /^Running for \d+ s\.$/ })),
      { status: 'completed', statusMessage: 'Completed after 63 s, 7 tokens. Its result follows.' },
    ]);
    if (outcome.status !== 'completed') throw new Error(`Ended as ${outcome.status}.`);
    const told = await callTool(world, 'get_graph_run', { command_id });
    const { result } = outcome as unknown as { result: { content: { text: string }[]; structuredContent: object } };
    t.strictSame(result.structuredContent, { ...told.data, replayed: false }, 'it is what get_graph_run says');
    t.equal(ticketSchema.safeParse(result.structuredContent).success, true, 'in the shape of the tool that was called');
    t.strictSame(
      result.content.map(({ text }) => text),
      [told.text, told.resultText],
    );
  },
);

t.test('a run that fails, expires or is lost is a task whose result is an error', async (t) => {
  const { world, session } = await worldWithClient(t);
  const failed = await startedRun(world);
  const end = { status: 'failed', error: 'the Graph threw', result: undefined };
  await completeRun(world, failed, end);
  const lost = await startedRun(world);
  const { command_id: expired } = await startRun(world, { start_within_seconds: 1 });
  await world.clock.advance(3_600 * SECOND);
  for (const [id, status, text] of [
    [failed, 'failed', /^Failed after .*the Graph threw/],
    [lost, 'lost', /^Lost/],
    [expired, 'expired', /^Expired/],
  ] as const) {
    const outcome = await world.settle(session.task(taskId(id)).result());
    const result = { isError: true, structuredContent: { status }, content: [{ text }] };
    t.match(outcome, { status: 'completed', result });
  }
});

t.test('a lost run that comes back after all is told as it ended', async (t) => {
  const { world, session } = await worldWithClient(t);
  const id = await startedRun(world);
  await world.clock.advance(3_600 * SECOND);
  const task = session.task(taskId(id));
  t.match((await world.settle(task.snapshot())).raw, { status: 'completed', result: { isError: true } });
  await completeRun(world, id);
  const { raw } = await world.settle(task.snapshot());
  t.match(raw, { status: 'completed', result: { isError: undefined, structuredContent: { result: { answer: 42 } } } });
});

t.test('a client that lost its tasks finds those that go on in the list, and can end them (C87)', async (t) => {
  const { world, session } = await worldWithClient(t);
  const lost = await world.settle(session.callTool('run_graph_session', RUN));
  await lost.detach();
  await startRun(world, { agent: world.otherAgent });
  const { session: fresh } = await clientOf(t, world);
  const list = await callTool(world, 'list_graph_sessions', {});
  t.strictSame(
    list.data.active_runs.map(({ command_id }: { command_id: string }) => command_id),
    [lost.handle!.taskId],
  );
  const task = fresh.task(taskId(list.data.active_runs[0].command_id));
  await world.settle(task.cancel());
  t.match(await world.settle(task.snapshot()), { status: 'cancelled' });
});

t.test('a task that is cancelled is a run that is cancelled, before and after it has started', async (t) => {
  const { world, session } = await worldWithClient(t);
  const waiting = await world.settle(session.callTool('run_graph_session', RUN));
  await world.settle(waiting.cancel());
  t.match(await world.settle(waiting.result()), { status: 'cancelled' });
  const queued = session.task(taskId(waiting.handle!.taskId));
  t.match(await world.settle(queued.snapshot()), { status: 'cancelled', statusMessage: /^Cancelled/ });
  const running = await startedRun(world);
  const task = session.task(taskId(running));
  await world.settle(task.cancel());
  t.match(await world.settle(task.snapshot()), { status: 'working', statusMessage: /A stop was asked for\.$/ });
  await completeRun(world, running, { status: 'cancelled', result: undefined });
  const outcome = await world.settle(task.result());
  t.match(outcome, { status: 'cancelled' });
  await world.settle(task.cancel());
  t.match(await world.settle(task.snapshot()), { status: 'cancelled' }, 'a second word changes nothing');
});

t.test("another agent's task, a made-up one and one of another form give the same error", async (t) => {
  const { world, session } = await worldWithClient(t);
  const { command_id } = await startRun(world, { agent: world.otherAgent });
  for (const id of [command_id, UNKNOWN_COMMAND, 'task-1', '', command_id.toUpperCase()]) {
    const task = session.task(taskId(id));
    const refusal = { code: -32_602, message: 'Graph run not found or access removed' };
    await t.rejects(world.settle(task.snapshot()), refusal, `get ${id}`);
    await t.rejects(world.settle(task.cancel()), refusal, `cancel ${id}`);
    await t.rejects(world.settle(task.update({})), refusal, `update ${id}`);
  }
});

t.test('answers to what no run has asked are taken and ignored', async (t) => {
  const { world, session } = await worldWithClient(t);
  const task = session.task(taskId(await startedRun(world)));
  await world.settle(task.update({ name: { action: 'accept', content: { name: 'x' } } }));
  t.match(await world.settle(task.snapshot()), { status: 'working' });
});

t.test('the same key gives the same task; a call that starts nothing is answered at once', async (t) => {
  const { world, session } = await worldWithClient(t);
  const first = await world.settle(session.callTool('run_graph_session', RUN));
  await first.detach();
  const again = await world.settle(session.callTool('run_graph_session', RUN));
  t.equal(again.kind, 'task');
  t.equal(again.handle?.taskId, first.handle?.taskId);
  const refused = await world.settle(session.callTool('run_graph_session', { ...RUN, arguments: { other: 1 } }));
  t.equal(refused.kind, 'immediate');
  t.match(await world.settle(refused.result()), { status: 'completed', result: { isError: true } });
  const read = await world.settle(session.callTool('list_graph_sessions', {}));
  t.equal(read.kind, 'immediate', 'other tools are no tasks');
});

t.test('a model is told a run in full though its client got a task', async (t) => {
  const { world, session } = await worldWithClient(t);
  const { handle } = await world.settle(session.callTool('run_graph_session', RUN));
  const { data } = await callTool(world, 'get_graph_run', { command_id: handle!.taskId });
  t.match(data, { command_id: handle!.taskId, unchanged: undefined });
});

t.test('a task is there for as long as it says, however many there are', async (t) => {
  const world = await createTestRelay({ limits: { runsKept: 0 } });
  const { session } = await clientOf(t, world);
  const id = await startedRun(world);
  const task = session.task(taskId(id));
  const ttlMs = async () => (await world.settle(task.snapshot())).retentionMs;
  t.equal(await ttlMs(), DAY);
  await world.clock.advance(60 * SECOND);
  t.equal(await ttlMs(), DAY + 60 * SECOND, 'it grows while the run goes on');
  await completeRun(world, id);
  await world.clock.advance(DAY - SECOND);
  const { raw } = await world.settle(task.snapshot());
  t.match(raw, { status: 'completed', ttlMs: DAY + 60 * SECOND, pollIntervalMs: undefined });
  t.equal(Date.parse(raw.lastUpdatedAt as string) - Date.parse(raw.createdAt as string), 60 * SECOND);
  await world.clock.advance(2 * SECOND);
  await t.rejects(world.settle(task.snapshot()), { code: -32_602 });
});

t.test('a relay that is killed and comes back goes on with the same tasks', async (t) => {
  const { world, session } = await worldWithClient(t);
  const { handle } = await world.settle(session.callTool('run_graph_session', RUN));
  const after = await createTestRelay({ after: { image: world.crash(), of: world } });
  await syncDesktop(after);
  await beginRun(after, handle!.taskId);
  const { session: later } = await clientOf(t, after);
  const task = later.task(taskId(handle!.taskId));
  t.match(await after.settle(task.snapshot()), { status: 'working', statusMessage: /^Running/ });
  await completeRun(after, handle!.taskId);
  t.match(await after.settle(task.result()), { result: { structuredContent: { result: { answer: 42 } } } });
});

t.test('a disk that refuses is an error that says so, and no lost task', async (t) => {
  const { world, session } = await worldWithClient(t);
  const id = await startedRun(world);
  world.refuseWrites('the disk is full');
  await startRun(world).catch(() => {});
  const task = session.task(taskId(id));
  await t.rejects(world.settle(task.cancel()), { code: -32_603, message: /\[store-unavailable\]$/ });
  world.refuseWrites(null);
  t.match(await world.settle(task.snapshot()), { status: 'working' });
});
