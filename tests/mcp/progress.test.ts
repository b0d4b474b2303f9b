import t from 'tap';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import type { RunView } from '../../server/agent-api.ts';
import { startProgress } from '../../server/mcp/wait-progress.ts';
import { createTestRelay, SECOND, startRun } from '../contract/support.ts';
import { ERAS, type Era, postOf, runView, toolCall } from './fixtures.ts';
import { completeRun, connectClient, startedRun, syncDesktop, useVirtualTimers } from './virtual-client.ts';

interface News {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

function waitFor(command_id: string, wait_seconds: number) {
  return { name: 'get_graph_run', arguments: { command_id, wait_seconds } };
}

for (const era of ERAS) {
  t.test(`the official client hears of its wait at once and each 10 s, in ${era}`, async (t) => {
    const world = await createTestRelay();
    const command_id = await startedRun(world);
    useVirtualTimers(t, world.clock);
    const client = await connectClient(world, era);
    await world.clock.advance(63 * SECOND);
    const news: News[] = [];
    const onprogress = (one: News) => void news.push(one);
    const answer = await world.settle(client.callTool(waitFor(command_id, 50), { onprogress }));
    t.match(answer.structuredContent, { status: 'running' });
    t.strictSame(
      news.map(({ progress, total, message }) => [progress, total, message]),
      [0, 10, 20, 30, 40].map((waited) => [waited, 50, `Running for ${63 + waited} s.`]),
    );
    await client.close();
  });

  t.test(`news keep a client waiting whose limit is shorter than the wait, in ${era} (C66)`, async (t) => {
    const world = await createTestRelay();
    const command_id = await startedRun(world);
    useVirtualTimers(t, world.clock);
    const client = await connectClient(world, era);
    const limit = { timeout: 15 * SECOND, onprogress: () => {} };
    const reset = { ...limit, resetTimeoutOnProgress: true };
    const answer = await world.settle(client.callTool(waitFor(command_id, 50), reset));
    t.match(answer.structuredContent, { status: 'running' });
    await t.rejects(
      world.settle(client.callTool(waitFor(command_id, 50), limit)),
      /timed out/i,
      'without them it ends',
    );
    await client.close();
  });

  t.test(`news end with the answer, in ${era}`, async (t) => {
    const world = await createTestRelay();
    const command_id = await startedRun(world);
    const client = await connectClient(world, era);
    const news: News[] = [];
    const call = client.callTool(waitFor(command_id, 50), { onprogress: (one) => void news.push(one) });
    await world.clock.advance(12 * SECOND);
    await completeRun(world, command_id);
    t.match((await world.settle(call)).structuredContent, { status: 'completed', result: { answer: 42 } });
    await world.clock.advance(60 * SECOND);
    t.strictSame(
      news.map(({ progress }) => progress),
      [0, 10],
    );
    await client.close();
  });

  t.test(`a queued run's news say what it waits for, and a run that has ended has none, in ${era}`, async (t) => {
    const world = await createTestRelay();
    await syncDesktop(world);
    const { command_id } = await startRun(world);
    await startRun(world);
    const second = await startRun(world);
    const client = await connectClient(world, era);
    const news: News[] = [];
    const onprogress = (one: News) => void news.push(one);
    await world.settle(client.callTool(waitFor(second.command_id, 5), { onprogress }));
    t.match(news, [{ progress: 0, total: 5, message: /^Queued for 0 s, 2 ahead of it; desktop / }]);
    await world.settle(client.callTool({ name: 'cancel_graph_run', arguments: { command_id } }));
    await world.settle(client.callTool(waitFor(command_id, 5), { onprogress }));
    t.equal(news.length, 1);
    await client.close();
  });

  t.test(`who gives no token, or does not wait, is told nothing besides the answer, in ${era}`, async (t) => {
    const world = await createTestRelay();
    const command_id = await startedRun(world);
    const token = world.agentToken;
    const silent = toolCall(era, 'get_graph_run', { command_id, wait_seconds: 50 });
    t.notMatch(await bodyOf(silent), /notifications/);
    t.notMatch(await bodyOf(withProgressToken(era, { command_id, wait_seconds: 0 })), /notifications/);
    t.match(await bodyOf(withProgressToken(era, { command_id, wait_seconds: 1 })), /"progressToken":"mine"/);

    function bodyOf(message: object): Promise<string> {
      return world.settle(world.relay.fetch(postOf(message, { token })).then((response) => response.text()));
    }
  });

  t.test(`the end of the stream ends the news and their timer, in ${era}`, async (t) => {
    const world = await createTestRelay();
    const command_id = await startedRun(world);
    const message = withProgressToken(era, { command_id, wait_seconds: 50 });
    const response = await world.settle(world.relay.fetch(postOf(message, { token: world.agentToken })));
    await world.clock.advance(5 * SECOND);
    await response.body!.cancel();
    await world.clock.advance(1);
    const before = world.clock.events;
    await world.clock.advance(60 * SECOND);
    t.equal(world.clock.events, before, 'no timer of this wait is left');
  });
}

t.test('a look that is still on its way when the wait ends is not told, and begins nothing', async (t) => {
  for (const end of ['stop', 'abort'] as const) {
    const clock = new VirtualClock();
    const looking = Promise.withResolvers<RunView>();
    const gone = new AbortController();
    const told: unknown[] = [];
    const tell = (news: unknown) => void told.push(news);
    const { stop } = startProgress({ clock, total: 50, signal: gone.signal, look: () => looking.promise, tell });
    if (end === 'stop') stop();
    else gone.abort();
    looking.resolve(runView());
    await clock.advance(60 * SECOND);
    t.strictSame(told, []);
    t.equal(clock.events, 0);
  }
});

t.test('a run that cannot be looked at has no news, and its wait goes on', async (t) => {
  const clock = new VirtualClock();
  const told: unknown[] = [];
  const look = () => Promise.reject(new Error('gone'));
  const { signal } = new AbortController();
  startProgress({ clock, total: 50, signal, look, tell: (news) => void told.push(news) });
  await clock.advance(60 * SECOND);
  t.strictSame(told, []);
});

function withProgressToken(era: Era, input: object) {
  const { params = {}, ...rest } = toolCall(era, 'get_graph_run', input);
  return { ...rest, params: { ...params, _meta: { ...(params._meta as object | undefined), progressToken: 'mine' } } };
}
