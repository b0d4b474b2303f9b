/** What a run may take holds over all its Graphs: a called Graph can only lower it. */
import t from 'tap';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { createScriptedProvider } from '../../desktop-agent/engine/providers/scripted.ts';
import type { ToolHost } from '../../desktop-agent/engine/tool-host.ts';
import { graph, heldProvider, runGraph, shelfOf, startGraph, testEngine, testPorts, told } from './support.ts';

const provider = createScriptedProvider({ script: (prompt) => ({ text: `<${prompt}>`, tokens: 10 }) });
const echo: ToolHost = { call: async ({ tool }) => tool };
const agents = (count: number): string =>
  `const r = []; for (let i = 0; i < ${count}; i++) r.push(await agent('x').then(() => 1, (e) => e.name)); return r`;
const numbers = '[budget.total, budget.spent(), budget.remaining()]';

t.test('a ceiling of tokens holds over called Graphs, and theirs can only be lower', async (t) => {
  const graphs = shelfOf({
    plain: graph(`const before = ${numbers}; await agent('x'); return [before, ${numbers}]`),
    low: graph(
      `const b = ${numbers}; ${agents(3).replace('return r', `return [b, r, ${numbers}]`)}`,
      ', limits: { total_tokens: 15 }',
    ),
    high: graph(agents(9), ', limits: { total_tokens: 1000000 }'),
  });
  const engine = testEngine(t, { provider, graphs });
  const body = `await agent('x'); const plain = await graph('plain'); const low = await graph('low');
    const here = ${numbers}; return [plain, low, here, await graph('high'), ${numbers}]`;
  const outcome = await runGraph(engine, graph(body, ', limits: { total_tokens: 70 }'));
  t.same(JSON.parse(outcome.resultJson ?? ''), [
    [
      [60, 0, 60],
      [60, 10, 50],
    ],
    [
      [15, 0, 15],
      [1, 1, 'BudgetExceeded'],
      [15, 20, 0],
    ],
    [70, 40, 30],
    [1, 1, 1, ...Array(6).fill('BudgetExceeded')],
    [70, 70, 0],
  ]);
  t.equal(outcome.totalTokens, 70);
  const refused = outcome.events.filter((event) => event.type === 'agent_refused');
  t.match(refused[0], { reason: /budget of 15 tokens is spent \(20 used\)/, within: 2 });
  t.equal(refused.length, 7);
});

t.test('a ceiling that another Graph of the run has reached holds at once', async (t) => {
  const held = heldProvider();
  const graphs = shelfOf({ child: graph("await agent(args.n); return await agent('more').catch((e) => e.name)") });
  const run = startGraph(
    testEngine(t, { provider: held, graphs }),
    graph(
      "return await parallel(['a', 'b'].map((n) => () => graph('child', { n })))",
      ', limits: { total_tokens: 100 }',
    ),
  );
  await held.until(2);
  held.held[0]?.answer('', 100);
  held.held[1]?.answer('', 1);
  t.match(await run.done, { resultJson: '["BudgetExceeded","BudgetExceeded"]', totalTokens: 101 });
  t.equal(held.held.length, 2);
});

t.test('agents of all Graphs share the concurrency, in the order of asking; a called one can have less', async (t) => {
  const held = heldProvider();
  const many = 'await parallel([0, 1, 2].map((i) => () => agent(meta.name + i)))';
  const graphs = shelfOf({ one: `export const meta = { name: 'one', limits: { max_concurrency: 1 } }; ${many}` });
  const run = startGraph(
    testEngine(t, { provider: held, graphs }),
    graph(`await parallel([() => graph('one'), async () => { ${many} }])`, ', limits: { max_concurrency: 3 }'),
  );
  let running = 0;
  let most = 0;
  const inOne = new Set<number>();
  let mostInOne = 0;
  for (let answered = 0; answered < 6; answered += 1) {
    await held.until(answered + 1);
    held.held[answered]?.answer('', 1);
  }
  await run.done;
  for (const event of run.events) {
    if (event.type === 'agent_started') {
      running += 1;
      if (event.within === 1) inOne.add(event.agent);
    }
    if (event.type === 'agent_finished') {
      running -= 1;
      inOne.delete(event.agent);
    }
    most = Math.max(most, running);
    mostInOne = Math.max(mostInOne, inOne.size);
  }
  t.ok(most <= 3);
  t.equal(mostInOne, 1);
  const started = told(run.events, 'agent').filter((line) => line.startsWith('agent_started'));
  t.equal(new Set(started).size, 6, 'each agent has a number of its own in the run');
});

t.test('a called Graph without a limit of its own keeps to the concurrency of its caller', async (t) => {
  const held = heldProvider();
  const child = "const all = [0, 1, 2].map((i) => agent('c' + i)); log('asked'); return await Promise.all(all)";
  const graphs = shelfOf({ child: graph(child) });
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const run = startGraph(
    testEngine(t, { provider: held, graphs }),
    graph("return await graph('child')", ', limits: { max_concurrency: 2 }'),
    { onEvent: ({ type }) => type === 'log' && resolve() },
  );
  await asked;
  t.equal(held.held.length, 2, 'the third waits, though all three were asked for');
  for (let answered = 0; answered < 3; answered += 1) {
    await held.until(answered + 1);
    held.held[answered]?.answer(String(answered), 1);
  }
  t.equal((await run.done).resultJson, '["0","1","2"]');
});

t.test('agents, tools and called Graphs are counted for the whole run', async (t) => {
  const calls = (call: string): string =>
    `const r = []; for (let i = 0; i < 3; i++) r.push(await ${call}.then(() => 1, (e) => e.name)); return r`;
  const graphs = shelfOf({
    agents: graph(calls("agent('x')")),
    tools: graph(calls("tool('web.x')"), ", tools: ['web.x']"),
    graphs: graph(calls("graph('leaf')")),
    leaf: graph('return 1'),
    lowered: graph(calls("agent('x')"), ', limits: { agents: 1 }'),
  });
  const engine = testEngine(t, { provider, tools: echo, graphs });
  const cases: [child: string, mine: string, limits: string, expected: string][] = [
    ['agents', "agent('x')", 'agents: 4', '[[1,1,1],[1,"AgentLimitExceeded","AgentLimitExceeded"]]'],
    ['tools', "tool('web.x')", 'tool_calls: 4', '[[1,1,1],[1,"ToolLimitExceeded","ToolLimitExceeded"]]'],
    ['graphs', "graph('leaf')", 'graph_calls: 5', '[[1,1,1],[1,"GraphLimitExceeded","GraphLimitExceeded"]]'],
    ['lowered', "agent('x')", 'agents: 9', '[[1,"AgentLimitExceeded","AgentLimitExceeded"],[1,1,1]]'],
  ];
  for (const [child, mine, limits, expected] of cases) {
    const body = `const child = await graph('${child}'); const mine = await (async () => { ${calls(mine)} })(); return [child, mine]`;
    const outcome = await runGraph(engine, graph(body, `, tools: ['web.*'], limits: { ${limits} }`));
    t.equal(outcome.resultJson, expected, child);
  }
});

t.test('a called Graph may use a tool only when it and each Graph on the way name it', async (t) => {
  const both = "return [await tool('a.x').catch((e) => e.message), await tool('b.x').catch((e) => e.message)]";
  const graphs = shelfOf({
    child: graph(both, ", tools: ['a.*', 'b.x']"),
    unnamed: graph(both),
    middle: graph("return await graph('child')", ", tools: ['b.*']"),
  });
  const engine = testEngine(t, { tools: echo, graphs });
  const body = "return [await graph('child'), await graph('unnamed'), await graph('middle')]";
  const outcome = await runGraph(engine, graph(body, ", tools: ['a.x', 'b.x']"));
  const refused = (tool: string, file: string): RegExp => new RegExp(`"${tool}" is not named in .* of ${file}`);
  t.match(JSON.parse(outcome.resultJson ?? ''), [
    ['a.x', 'b.x'],
    [refused('a\\.x', 'unnamed\\.js'), refused('b\\.x', 'unnamed\\.js')],
    [refused('a\\.x', 'middle\\.js'), 'b.x'],
  ]);
});

t.test('the wall time of a called Graph is its own, and the run has the last word', async (t) => {
  const graphs = shelfOf({
    brief: graph("await agent('x')", ', limits: { wall_ms: 500 }'),
    long: graph("await agent('x')", ', limits: { wall_ms: 3600000 }'),
  });
  const clock = new VirtualClock();
  const held = heldProvider();
  const engine = testEngine(t, { provider: held, graphs, ports: { ...testPorts, clock }, keepWarm: false });
  const brief = startGraph(engine, graph("return await graph('brief').catch((e) => e.message)"));
  await held.until(1);
  await clock.advance(500);
  t.equal((await brief.done).resultJson, '"brief: the Graph took longer than its 500 ms"');
  t.match(
    brief.events.find(({ type }) => type === 'agent_finished'),
    { ok: false, within: 1 },
  );
  const long = startGraph(engine, graph("await graph('long')", ', limits: { wall_ms: 1500 }'));
  await held.until(2);
  await clock.advance(1_500);
  t.match(await long.done, { status: 'failed', error: 'the run took longer than its 1500 ms' });
  t.match(
    long.events.find(({ type }) => type === 'graph_finished'),
    { ok: false, error: /has ended/ },
  );
  t.ok(held.held.every(({ signal }) => signal.aborted));
});

t.test('so many Graphs run at once at each depth, and none waits for the place of one that waits for it', async (t) => {
  const graphs = shelfOf({
    middle: graph("return await parallel([1, 2].map((n) => () => graph('leaf', { n })))"),
    leaf: graph("await agent('x'); return args.n"),
  });
  const engine = testEngine(t, { provider, graphs, limits: { graphsAtOnce: 1 } });
  const outcome = await runGraph(engine, graph("return await parallel([1, 2].map(() => () => graph('middle')))"));
  t.equal(outcome.resultJson, '[[1,2],[1,2]]');
  const open = new Map<number | undefined, number>();
  for (const event of outcome.events) {
    if (event.type === 'graph_started') {
      const depth = event.slug === 'middle' ? 2 : 3;
      t.equal(open.get(depth) ?? 0, 0, `${event.slug} alone`);
      open.set(depth, 1);
    }
    if (event.type === 'graph_finished') open.set(event.slug === 'middle' ? 2 : 3, 0);
  }
});

t.test('log lines are counted for the whole run, and one line says that the rest is dropped', async (t) => {
  const flood = "for (let i = 0; i < 30; i++) log('line');";
  const graphs = shelfOf({ flood: graph(flood) });
  const engine = testEngine(t, { graphs, limits: { logEvents: 20 } });
  const outcome = await runGraph(engine, graph(`log('first'); await graph('flood'); ${flood} await graph('flood')`));
  const lines = outcome.events.flatMap((event) => (event.type === 'log' ? [event.message] : []));
  t.same(lines, ['first', ...Array(19).fill('line'), 'This run has shown 20 log lines; the rest is dropped.']);
});

t.test('a Graph that its caller does not wait for ends with its caller', async (t) => {
  const held = heldProvider();
  const graphs = shelfOf({
    slow: graph("await agent('slow'); return 1"),
    hasty: graph("graph('slow'); await agent('me'); return 'done'"),
  });
  const engine = testEngine(t, { provider: held, graphs, keepWarm: false });
  const run = startGraph(engine, graph("const a = await graph('hasty'); return [a, await agent('last')]"));
  await held.until(2);
  const slow = held.held.find(({ prompt }) => prompt === 'slow');
  held.held.find(({ prompt }) => prompt === 'me')?.answer('', 1);
  await held.until(3);
  t.equal(slow?.signal.aborted, true);
  held.held[2]?.answer('ok', 1);
  t.match(await run.done, { status: 'completed', resultJson: '["done","ok"]' });
});
