/** What an agent is told of the steps of its run: each instant, and what lies between them. */
import t from 'tap';
import { callTool } from './mcp-caller.ts';
import { createTestRelay, SECOND, session, startRun, syncInput, uuid } from './support.ts';

t.test(
  'an answer has the instant of each step, the pickup and the run between them, and how it travelled',
  async (t) => {
    const world = await createTestRelay();
    const { clock } = world;
    const timing = async (command_id: string) => (await callTool(world, 'get_graph_run', { command_id })).data.timing;
    await world.settle(world.trpc('sync', syncInput({ capacity: 0 })));
    const { command_id } = await startRun(world);
    const queued = clock.now();
    const none = { started_at: null, finished_at: null, pickup_ms: null, run_ms: null };
    t.strictSame(await timing(command_id), { queued_at: iso(queued), offered_at: null, ...none, transport: null });

    await clock.advance(2 * SECOND);
    await world.settle(world.trpc('sync', syncInput({ hold_ms: 20 * SECOND })));
    const offered_at = iso(queued + 2 * SECOND);

    await clock.advance(SECOND);
    const execution = { command_id, execution_id: uuid(1) };
    await world.settle(world.trpc('control', { ...execution, phase: 'starting', hold_ms: 0 }));
    const started_at = iso(queued + 3 * SECOND);
    t.match(await timing(command_id), {
      offered_at,
      started_at,
      pickup_ms: 3 * SECOND,
      run_ms: null,
      finished_at: null,
    });

    await clock.advance(7 * SECOND);
    const end = { status: 'completed', result: 1, error: null, total_tokens: null, reported_cost: null };
    await world.settle(world.trpc('complete', { ...execution, ...end }));
    t.strictSame(await timing(command_id), {
      queued_at: iso(queued),
      offered_at,
      started_at,
      finished_at: iso(queued + 10 * SECOND),
      pickup_ms: 3 * SECOND,
      run_ms: 7 * SECOND,
      transport: 'long-poll',
    });
  },
);

t.test('a run that never started took no time', async (t) => {
  const world = await createTestRelay();
  await world.settle(
    world.trpc('sync', syncInput({ capacity: 0, projects: [{ project_id: 'home', sessions: [session(1)] }] })),
  );
  const { command_id } = await startRun(world);
  await world.clock.advance(SECOND);
  const { data } = await callTool(world, 'cancel_graph_run', { command_id });
  t.match(data.timing, { offered_at: null, started_at: null, finished_at: String, pickup_ms: null, run_ms: null });
});

function iso(at: number): string {
  return new Date(at).toISOString();
}
