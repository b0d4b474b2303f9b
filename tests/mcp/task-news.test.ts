import t from 'tap';
import { tellNews } from '../../server/mcp/task-news.ts';
import { createTestRelay, SECOND, SILENT, session, startRun, type TestRelay, uuid } from '../contract/support.ts';
import { COMMAND, declaring, message, postOf, runView, UNKNOWN_COMMAND } from './fixtures.ts';
import { connectTaskClient, DECLARED } from './task-client.ts';
import { beginRun, completeRun, connectClient, startedRun, syncDesktop, useVirtualTimers } from './virtual-client.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of many shapes.
type Message = any;

interface Stream {
  readonly response: Response;
  /** What has come so far. */
  readonly messages: Message[];
  /** Resolves when the stream has ended. */
  readonly ended: Promise<void>;
}

function listen(taskIds: unknown, capabilities: object = DECLARED) {
  const asked = message('2026', 'subscriptions/listen', { notifications: { taskIds } });
  return { ...declaring(asked, capabilities), id: 'listen-1' };
}

async function openStream(world: TestRelay, body: object, token = world.agentToken): Promise<Stream> {
  const response = await world.settle(world.relay.fetch(postOf(body, { token })));
  const messages: Message[] = [];
  const ended = collect(response.body!, messages);
  await world.clock.advance(0);
  return { response, messages, ended };
}

async function collect(stream: ReadableStream<Uint8Array>, into: Message[]): Promise<void> {
  let rest = '';
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    for (const line of lines) if (line.startsWith('data: ')) into.push(JSON.parse(line.slice('data: '.length)));
  }
}

function statuses({ messages }: Stream): unknown[] {
  return messages.filter(({ method }) => method === 'notifications/tasks').map(({ params }) => params.status);
}

t.test('a listener is told what it will hear of, how that stands, each change, and the end of all', async (t) => {
  const world = await createTestRelay();
  await syncDesktop(world);
  const { command_id: first } = await startRun(world);
  const { command_id: second } = await startRun(world);
  const foreign = await startRun(world, { agent: world.otherAgent });
  const asked = [first, first, UNKNOWN_COMMAND, foreign.command_id, second];
  const stream = await openStream(world, listen(asked));
  const [acknowledged, ...present] = stream.messages;
  const _meta = { 'io.modelcontextprotocol/subscriptionId': 'listen-1' };
  t.match(acknowledged, {
    method: 'notifications/subscriptions/acknowledged',
    params: { notifications: { taskIds: [first, second] }, _meta },
  });
  t.strictSame(acknowledged.params.notifications.taskIds, [first, second], 'its own ones, once');
  t.match(present, [
    { method: 'notifications/tasks', params: { taskId: first, status: 'working', statusMessage: /^Queued/, _meta } },
    { method: 'notifications/tasks', params: { taskId: second, status: 'working', _meta } },
  ]);
  await syncDesktop(world);
  await beginRun(world, first);
  await world.clock.advance(200 * SECOND);
  t.equal(stream.messages.length, 4, 'no news without a change');
  t.match(stream.messages[3], { params: { taskId: first, status: 'working', statusMessage: /^Running/ } });
  await completeRun(world, first);
  await world.clock.advance(0);
  t.match(stream.messages[4].params, {
    taskId: first,
    status: 'completed',
    result: { resultType: 'complete', structuredContent: { status: 'completed', result: { answer: 42 } } },
  });
  await world.settle(world.relay.agents.cancelRun(world.agent, { command_id: second }));
  await world.settle(stream.ended);
  t.match(stream.messages[5], { params: { taskId: second, status: 'cancelled' } });
  t.match(stream.messages.slice(6), [{ id: 'listen-1', result: { resultType: 'complete', _meta } }]);
});

t.test('the client of the extension gets its result by news, long before it would look again', async (t) => {
  const world = await createTestRelay();
  await syncDesktop(world);
  useVirtualTimers(t, world.clock);
  const { client, session: tasks } = await world.settle(
    connectTaskClient({ fetch: world.relay.fetch, token: world.agentToken }),
  );
  const input = { graph_session_id: session(1).graph_session_id, idempotency_key: 'key-12345' };
  const execution = await world.settle(tasks.callTool('run_graph_session', input));
  const id = execution.handle!.taskId;
  const subscription = await world.settle(client.listen({ taskIds: [id] } as object));
  const startedAt = world.clock.monotonic();
  await syncDesktop(world);
  await beginRun(world, id);
  await completeRun(world, id);
  const result = { structuredContent: { result: { answer: 42 } } };
  t.match(await world.settle(execution.result()), { status: 'completed', result });
  t.ok(world.clock.monotonic() - startedAt < SECOND);
  t.equal(await world.settle(subscription.closed), 'graceful');
  await client.close();
});

t.test('a task whose owner is asked stays at work and says what it waits for, then that it goes on', async (t) => {
  const world = await createTestRelay();
  const id = await startedRun(world);
  const stream = await openStream(world, listen([id]));
  const said = async (awaiting_approval: object | null) => {
    const control = { command_id: id, execution_id: uuid(1), phase: 'running', hold_ms: 0, awaiting_approval };
    await world.settle(world.trpc('control', control));
    await world.clock.advance(0);
  };
  await said({ tool: 'files.write_file', waiting_ms: 2 * SECOND });
  const asked = stream.messages.at(-1).params;
  t.match(asked, {
    status: 'working',
    statusMessage: /waits for the owner's approval of tool files\.write_file since /,
  });
  t.equal(asked.pollIntervalMs, 30 * SECOND);
  await said({ tool: 'files.write_file', waiting_ms: 2 * SECOND });
  t.equal(stream.messages.length, 3, 'the same again is no news');
  await said(null);
  t.equal(stream.messages.length, 4);
  t.notMatch(stream.messages.at(-1).params.statusMessage, /owner/);
  await world.settle(world.relay.drain());
  await world.settle(stream.ended);
});

t.test('a task that has ended is told once, and nothing to listen to ends at once', async (t) => {
  const world = await createTestRelay();
  const id = await startedRun(world);
  await completeRun(world, id);
  const ended = await openStream(world, listen([id]));
  await world.settle(ended.ended);
  t.strictSame(statuses(ended), ['completed']);
  const nothing = await openStream(world, listen([UNKNOWN_COMMAND]));
  await world.settle(nothing.ended);
  t.match(nothing.messages, [{ params: { notifications: { taskIds: [] } } }, { result: { resultType: 'complete' } }]);
});

t.test('a listener whose token is revoked hears nothing more', async (t) => {
  const world = await createTestRelay();
  const id = await startedRun(world);
  const stream = await openStream(world, listen([id]));
  t.strictSame(statuses(stream), ['working']);
  await world.settle(world.relay.access.revokeToken('first'));
  await completeRun(world, id);
  await world.settle(stream.ended);
  t.strictSame(statuses(stream), ['working']);
  t.notMatch(JSON.stringify(stream.messages), /answer/);
});

t.test('a listener that goes away leaves nothing behind', async (t) => {
  const world = await createTestRelay();
  const id = await startedRun(world);
  const gone = new AbortController();
  const request = postOf(listen([id]), { token: world.agentToken, signal: gone.signal });
  const response = await world.settle(world.relay.fetch(request));
  await response.body!.cancel();
  gone.abort();
  await world.clock.advance(1);
  const before = world.clock.events;
  await world.clock.advance(120 * SECOND);
  t.equal(world.clock.events, before, 'no wait of it is left');
});

t.test('a relay that stops lets its listeners go', async (t) => {
  const world = await createTestRelay();
  const id = await startedRun(world);
  const stream = await openStream(world, listen([id]));
  await world.settle(world.relay.drain());
  await world.settle(stream.ended);
  t.match(stream.messages.at(-1), { id: 'listen-1', result: { resultType: 'complete' } });
});

t.test('a listener for whom there is no room is told how things stand, and let go', async (t) => {
  const world = await createTestRelay({ limits: { waitsPerAgent: 1 } });
  const id = await startedRun(world);
  const first = await openStream(world, listen([id]));
  const second = await openStream(world, listen([id]));
  await world.settle(second.ended);
  t.strictSame(statuses(second), ['working']);
  await completeRun(world, id);
  await world.settle(first.ended);
  t.strictSame(statuses(first), ['working', 'completed']);
});

t.test('waits that come back early with nothing to tell are a second apart', async (t) => {
  const { clock, relay, agent } = await createTestRelay();
  let looks = 0;
  const getRun = async () => {
    looks++;
    return runView();
  };
  const gone = new AbortController();
  const ports = { api: { ...relay.agents, getRun }, clock, log: SILENT, runsKeptMs: 0 };
  const listener = { agent: () => agent, signal: gone.signal, accepted: async () => {}, news: async () => {} };
  const over = tellNews(ports, listener, [COMMAND]);
  await clock.advance(10 * SECOND + 1);
  t.equal(looks, 1 + 11);
  gone.abort();
  await clock.settle(over);
});

t.test('one subscription follows 32 tasks', async (t) => {
  const world = await createTestRelay();
  await syncDesktop(world);
  const ids: string[] = [];
  for (let n = 0; n < 33; n++) ids.push((await startRun(world)).command_id);
  const stream = await openStream(world, listen(ids));
  t.strictSame(stream.messages[0].params.notifications.taskIds, ids.slice(0, 32));
  await world.settle(world.relay.drain());
  await world.settle(stream.ended);
});

t.test('a subscription to tasks that is not in order is answered with an error', async (t) => {
  const world = await createTestRelay();
  const id = await startedRun(world);
  const ask = async (body: object, headers = {}) => {
    const request = postOf(body, { token: world.agentToken, headers });
    const response = await world.settle(world.relay.fetch(request));
    return { status: response.status, body: await world.settle(response.text()) };
  };
  const undeclared = await ask(listen([id], {}));
  t.equal(undeclared.status, 400);
  t.match(
    undeclared.body,
    /"code":-32021.*"requiredCapabilities":\{"extensions":\{"io.modelcontextprotocol\/tasks":\{\}/,
  );
  t.match((await ask(listen('all'))).body, /"code":-32602/);
  t.match((await ask(listen([1]))).body, /"code":-32602/);
  t.equal((await ask(listen([id]), { 'mcp-method': 'tools/list' })).status, 400, 'headers must fit');
  t.match((await ask(message('2026', 'subscriptions/listen'))).body, /"code":-32602/);
  const old = message('2025', 'subscriptions/listen', { notifications: { taskIds: [id] } });
  t.match((await ask(old)).body, /Method not found/);
});

t.test('who asks for news of lists is told that there will be none, with a token or without', async (t) => {
  const world = await createTestRelay();
  useVirtualTimers(t, world.clock);
  const asked = message('2026', 'subscriptions/listen', { notifications: { toolsListChanged: true } });
  const response = await world.settle(world.relay.fetch(postOf({ ...asked, id: 'listen-1' })));
  const messages: Message[] = [];
  await world.settle(collect(response.body!, messages));
  const _meta = { 'io.modelcontextprotocol/subscriptionId': 'listen-1' };
  t.match(messages, [
    { method: 'notifications/subscriptions/acknowledged', params: { notifications: {}, _meta } },
    { id: 'listen-1', result: { resultType: 'complete', _meta } },
  ]);
  t.strictSame(messages[0].params.notifications, {});
  const client = await world.settle(connectClient(world, '2026'));
  const subscription = await world.settle(client.listen({ toolsListChanged: true }));
  t.strictSame(subscription.honoredFilter, {});
  t.equal(await world.settle(subscription.closed), 'graceful');
  await client.close();
});
