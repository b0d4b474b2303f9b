/** The client of the Tasks extension before a real relay: what it holds is good after the relay was killed. */
import { taskId } from '@modelcontextprotocol/ext-tasks/core';
import t from 'tap';
import { systemIds } from '../../protocol/host/system-ports.ts';
import { connectTaskClient } from '../mcp/task-client.ts';
import { desktopCall, plainSync, sharedSession, startRelay, startWorld } from './relay-world.ts';
import { expectProcesses, LIGHT } from './support.ts';

expectProcesses(t);

const SESSION = 'gs_0123456789abcdef0123456789abcdef';

t.test('a task that was started before kill -9 is run, looked at and cancelled after it', async (t) => {
  const world = await startWorld(t);
  let { url } = world;
  const desktop = { instance_id: systemIds.uuid(), projects: sharedSession(SESSION), capacity: 1 };
  const call = <A>(name: 'sync' | 'control' | 'complete', input: object) =>
    desktopCall<A>({ url, token: world.desktopToken }, name, input);
  await call('sync', plainSync({ ...desktop, capacity: 0 }));
  const fetchFromRelay = async (request: Request) => fetch(new Request(new URL('/mcp', url), request));
  const { client, session } = await connectTaskClient({ fetch: fetchFromRelay, token: world.agent.token });
  t.teardown(() => client.close());
  const start = async (n: number) => {
    const input = { graph_session_id: SESSION, arguments: { n }, idempotency_key: systemIds.uuid() };
    const execution = await session.callTool('run_graph_session', input);
    if (execution.kind !== 'task') throw new Error('Expected a task.');
    await execution.detach();
    return execution.handle.taskId;
  };
  const first = await start(1);
  const second = await start(2);
  t.equal((await world.process.end('SIGKILL')).signal, 'SIGKILL');
  ({ url } = await startRelay(t, world.data, { env: LIGHT }));

  t.match(await session.task(taskId(first)).snapshot(), { taskId: first, status: 'working', statusMessage: /^Queued/ });
  await session.task(taskId(second)).cancel();
  t.match(await session.task(taskId(second)).result(), { status: 'cancelled' });
  const { answer } = await call<{ commands: { command_id: string }[] }>('sync', plainSync(desktop));
  t.strictSame(
    answer.commands.map(({ command_id }) => command_id),
    [first],
  );
  const execution = { command_id: first, execution_id: systemIds.uuid() };
  await call('control', { ...execution, phase: 'starting', hold_ms: 0 });
  const end = { status: 'completed', result: { answer: 42 }, error: null, total_tokens: 7, reported_cost: null };
  await call('complete', { ...execution, ...end });
  const result = { structuredContent: { command_id: first, status: 'completed', result: { answer: 42 } } };
  t.match(await session.task(taskId(first)).result(), { status: 'completed', result });
  await t.rejects(session.task(taskId(systemIds.uuid())).snapshot(), { code: -32_602 });
});
