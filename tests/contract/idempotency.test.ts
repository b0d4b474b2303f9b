import t from 'tap';
import { createTestRelay, readRun, session, startRun, syncInput, type TestRelay, uuid } from './support.ts';

async function shared(options: Parameters<typeof createTestRelay>[0] = {}): Promise<TestRelay> {
  const world = await createTestRelay(options);
  const projects = [{ project_id: 'home', sessions: [session(1), session(2)] }];
  await world.settle(world.trpc('sync', syncInput({ projects, capacity: 0 })));
  return world;
}

/** Calls a tool over the MCP endpoint, as a client of the 2025 era does. */
async function callTool(world: TestRelay, name: string, args: object) {
  const response = await world.relay.fetch(
    new Request('http://relay.test/mcp', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${world.agentToken}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
    }),
  );
  return JSON.parse(await response.text()).result;
}

const run = (idempotency_key: string) => ({ graph_session_id: session(1).graph_session_id, idempotency_key });

t.test('100 calls at the same time with one key make one run', async (t) => {
  const world = await shared({ diskMs: 20 });
  const calls = Array.from({ length: 100 }, () => callTool(world, 'run_graph_session', run('same-key-for-all')));
  const tickets = (await world.settle(Promise.all(calls))).map(({ structuredContent }) => structuredContent);
  t.equal(new Set(tickets.map(({ command_id }) => command_id)).size, 1);
  t.equal(tickets.filter(({ replayed }) => !replayed).length, 1);
  const list = await world.settle(world.relay.agents.listSessions(world.agent, { project_id: 'home', limit: 1 }));
  t.equal(list.active_runs?.length, 1);
});

t.test('arguments are compared by meaning, and others are refused (C131)', async (t) => {
  const world = await shared();
  const key = 'one-key-here';
  const first = await startRun(world, { key, arguments: JSON.parse('{"a":1.0,"b":{"x":[1,-0],"y":null}}') });
  const same = await startRun(world, { key, arguments: JSON.parse('{"b":{"y":null,"x":[1e0,0]},"a":1}') });
  t.equal(same.command_id, first.command_id);
  t.equal(same.replayed, true);
  const others = [
    '{}',
    '{"a":1,"b":{"x":[-0,1],"y":null}}',
    '{"a":"1","b":{"x":[1,0],"y":null}}',
    '{"a":1,"b":{"x":[1,0]}}',
  ];
  for (const other of others) {
    await t.rejects(startRun(world, { key, arguments: JSON.parse(other) }), {
      message: /used before.*nothing was started/,
    });
  }
  await t.rejects(startRun(world, { key, n: 2 }), { message: /used before/ }, 'nor for another session');
});

const ODD_KEYS = [
  '__proto__',
  'constructor',
  'hasOwnProperty',
  'toString/valueOf',
  '        ',
  'key:with:colons',
  'ключ-по-русски',
  '🚀🚀🚀🚀',
  'k'.repeat(128),
];

t.test('any characters make a key, each its own, in 8 to 128 UTF-16 units (C121, C130)', async (t) => {
  const world = await shared();
  const ids = new Map<string, string>();
  for (const key of ODD_KEYS) {
    const { structuredContent } = await callTool(world, 'run_graph_session', run(key));
    t.equal(structuredContent?.replayed, false, JSON.stringify(key));
    ids.set(key, structuredContent.command_id);
  }
  t.equal(new Set(ids.values()).size, ODD_KEYS.length);
  for (const key of ODD_KEYS) {
    t.equal((await callTool(world, 'run_graph_session', run(key))).structuredContent.command_id, ids.get(key));
  }
  t.equal(
    (await callTool(world, 'run_graph_session', run('Constructor'))).structuredContent.replayed,
    false,
    'exactly',
  );
  for (const [key, problem] of [
    ['1234567', /at least 8 characters/],
    ['🚀🚀🚀', /at least 8 characters/],
    ['k'.repeat(129), /at most 128 characters/],
    [`${'🚀'.repeat(64)}x`, /at most 128 characters/],
    ['a'.repeat(10_000), /at most 128 characters/],
    ['12345678\0', /lone surrogate or a NUL/],
    ['12345678\ud83d', /lone surrogate or a NUL/],
  ] as const) {
    const refused = await callTool(world, 'run_graph_session', run(key));
    t.equal(refused.isError, true, JSON.stringify(key.slice(0, 20)));
    t.match(refused.content[0].text, problem);
  }
});

t.test("one agent's key is not another's, however they are joined (C130)", async (t) => {
  const world = await shared();
  const mine = await startRun(world, { key: 'the-same-key' });
  const theirs = await startRun(world, { key: 'the-same-key', agent: world.otherAgent });
  t.not(mine.command_id, theirs.command_id);
  t.equal(theirs.replayed, false);
  const crossed = { ...world.agent, agentId: `${world.agent.agentId}:the` };
  t.equal((await startRun(world, { key: 'same-key-:', agent: crossed })).replayed, false);
});

t.test('a key is that of the start call: a cancel takes none, and really cancels (C128)', async (t) => {
  const world = await shared();
  const { command_id } = await startRun(world, { key: 'the-only-key' });
  const refused = await callTool(world, 'cancel_graph_run', { command_id, idempotency_key: 'the-only-key' });
  t.match(refused, { isError: true, content: [{ text: /idempotency_key is not an input of this tool/ }] });
  t.equal((await readRun(world, command_id)).status, 'queued');
  t.equal((await callTool(world, 'cancel_graph_run', { command_id })).structuredContent.status, 'cancelled');
});

for (const status of ['completed', 'failed', 'cancelled'] as const) {
  t.test(`a key used again after the run was ${status} returns that, and moves nothing back (C127)`, async (t) => {
    const world = await shared();
    const { command_id } = await startRun(world, { key: 'the-only-key' });
    if (status === 'cancelled') await world.relay.agents.cancelRun(world.agent, { command_id });
    else await world.settle(world.trpc('complete', { command_id, execution_id: uuid(7), status }));
    t.match(await startRun(world, { key: 'the-only-key' }), { command_id, replayed: true, status });
    t.equal((await readRun(world, command_id)).status, status);
  });
}

t.test('a key answers with its run after a kill, from the moment that the ticket went out (C104)', async (t) => {
  const before = await shared({ diskMs: 20 });
  const { command_id } = await startRun(before, { key: 'the-only-key' });
  const lost = before.relay.agents.runSession(before.agent, { ...run('the-lost-key'), arguments: {} });
  lost.catch(() => {});
  const world = await createTestRelay({ after: { image: before.crash(), of: before } });
  t.match(await startRun(world, { key: 'the-only-key' }), { command_id, replayed: true });
  t.equal(
    (await startRun(world, { key: 'the-lost-key' })).replayed,
    false,
    'nothing was told of it, nothing is left of it',
  );
});
