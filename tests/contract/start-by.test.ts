import t from 'tap';
import { answerOf, createWorld, GOOD, postOf, SESSION, toolCall } from '../mcp/fixtures.ts';
import { createTestRelay, DAY, HOUR, readRun, SECOND, startRun, syncInput, type TestRelay } from './support.ts';

async function shared(options: Parameters<typeof createTestRelay>[0] = {}): Promise<TestRelay> {
  const world = await createTestRelay(options);
  await world.settle(world.trpc('sync', syncInput({ capacity: 0 })));
  return world;
}

for (const [asked, defaultMs, grantedMs] of [
  [undefined, undefined, DAY],
  [undefined, HOUR, HOUR],
  [60, undefined, 60 * SECOND],
  [7 * 24 * 3_600, HOUR, 7 * DAY],
] as const) {
  t.test(
    `asked for ${asked} s with a default of ${defaultMs ?? 'a day'}: the ticket says when, and it expires then`,
    async (t) => {
      const world = await shared(defaultMs === undefined ? {} : { limits: { startByDefaultMs: defaultMs } });
      const queuedAt = world.clock.now();
      const ticket = await startRun(world, asked === undefined ? {} : { start_within_seconds: asked });
      t.equal(Date.parse(ticket.start_by) - queuedAt, grantedMs);
      await world.clock.advance(grantedMs - SECOND);
      t.equal((await readRun(world, ticket.command_id)).status, 'queued');
      await world.clock.advance(2 * SECOND);
      const run = await readRun(world, ticket.command_id);
      t.match(run, { status: 'expired', start_by: ticket.start_by });
      t.equal(
        run.error,
        `The run did not start in time: its start-by time (${ticket.start_by}) passed while it was queued.`,
      );
      const offered = await world.settle(world.trpc('sync', syncInput()));
      t.strictSame(offered.body.result.data.commands, [], 'it does not fire when the lid opens');
    },
  );
}

t.test('another start-by time under the same key is another run; naming the default is not (C131)', async (t) => {
  const world = await shared();
  const { command_id } = await startRun(world, { key: 'one-key-here' });
  t.equal((await startRun(world, { key: 'one-key-here', start_within_seconds: 24 * 3_600 })).command_id, command_id);
  await t.rejects(startRun(world, { key: 'one-key-here', start_within_seconds: 60 }), { message: /used before/ });
});

t.test('the tool takes whole seconds within its bounds', async (t) => {
  const call = async (start_within_seconds: unknown) => {
    const world = createWorld();
    const input = { graph_session_id: SESSION, idempotency_key: 'key-12345', start_within_seconds };
    const { result } = await answerOf(
      await world.endpoint.fetch(postOf(toolCall('2025', 'run_graph_session', input), { token: GOOD })),
    );
    return { text: result.content[0].text, request: world.api.calls[0]?.request };
  };
  for (const good of [1, 3_600, 604_800]) t.equal((await call(good)).request?.start_within_seconds, good);
  for (const bad of [0, -1, 1.5, 604_801, '60', null]) {
    const { text, request } = await call(bad);
    t.match(text, /^start_within_seconds must be .*Nothing was done/, JSON.stringify(bad));
    t.equal(request, undefined);
  }
});
