/** `pipeline` and `retry`: the order of work, and what is tried again. */
import t from 'tap';
import { createScriptedProvider } from '../../desktop-agent/engine/providers/scripted.ts';
import { type ToolHost, ToolRefused } from '../../desktop-agent/engine/tool-host.ts';
import type { GraphEvent } from '../../desktop-agent/run-events.ts';
import type { Clock } from '../../protocol/ports.ts';
import {
  graph,
  heldProvider,
  realClock,
  runGraph,
  shelfOf,
  startGraph,
  testEngine,
  testPorts,
  told,
} from './support.ts';

const provider = createScriptedProvider({
  script: (prompt) => (prompt.startsWith('fail') ? new Error(`no: ${prompt}`) : { text: `<${prompt}>`, tokens: 10 }),
});

/** A clock whose waits of this length are over at once; all waits are noted. */
function shortWaits(...lengths: readonly number[]): { clock: Clock; waits: number[] } {
  const waits: number[] = [];
  const after: Clock['after'] = (delayMs, run) => {
    waits.push(delayMs);
    return realClock.after(lengths.includes(delayMs) ? 0 : delayMs, run);
  };
  return { clock: { ...realClock, after }, waits };
}

const retriesOf = (events: readonly GraphEvent[]): string[] =>
  told(
    events.filter(({ type }) => type === 'retry_waits'),
    'attempt',
    'attempts',
    'wait_ms',
    'error',
    'within',
  );

t.test('each stage gets the value, the item and its index, and results are in the order of the items', async (t) => {
  const body = `return await pipeline(['a', 'b'],
    (value, item, index) => agent(value + item + index),
    async (value, item, index) => [value, item, index])`;
  const outcome = await runGraph(testEngine(t, { provider }), graph(body));
  t.same(JSON.parse(outcome.resultJson ?? ''), [
    ['<aa0>', 'a', 0],
    ['<bb1>', 'b', 1],
  ]);
  t.equal((await runGraph(testEngine(t), graph('return await pipeline([], (x) => x)'))).resultJson, '[]');
});

t.test('there is no barrier between stages: one item is done before another has left its first', async (t) => {
  const held = heldProvider();
  const body =
    "return await pipeline(['slow', 'quick'], (v) => agent(v), (v) => agent(v + '2'), (v) => { log(v); return v })";
  const run = startGraph(testEngine(t, { provider: held }), graph(body), {
    onEvent: (event) => event.type === 'log' && quickIsDone(),
  });
  let quickIsDone: () => void = () => undefined;
  const quick = new Promise<void>((resolve) => {
    quickIsDone = resolve;
  });
  await held.until(2);
  held.held[1]?.answer('Q', 1);
  await held.until(3);
  t.equal(held.held[2]?.prompt, 'Q2');
  held.held[2]?.answer('done', 1);
  await quick;
  t.equal(held.held.length, 3, 'the slow item is still in its first stage');
  held.held[0]?.answer('S', 1);
  await held.until(4);
  held.held[3]?.answer('too', 1);
  t.equal((await run.done).resultJson, '["too","done"]');
});

t.test('pipeline waits for all items, then rejects with the first error in their order', async (t) => {
  const body = `const seen = [];
    try {
      await pipeline(['fail 1', 'fail 2', 'ok'],
        async (v, _, i) => { if (i === 1) throw new Error('first in time'); return agent(v) },
        (v) => { seen.push(v); return v });
    } catch (error) { return [error.message, seen] }`;
  const outcome = await runGraph(testEngine(t, { provider }), graph(body));
  t.equal(outcome.resultJson, '["no: fail 1",["<ok>"]]');
});

t.test('pipeline and retry refuse wrong arguments before anything starts', async (t) => {
  const engine = testEngine(t, { provider });
  const cases: [string, RegExp][] = [
    ["pipeline('x', (v) => agent(v))", /^TypeError: pipeline\(.*the first argument is not a list/],
    ["pipeline(['x'])", /^TypeError: pipeline\(.*there is no stage/],
    ["pipeline(['x'], (v) => agent(v), 'y')", /^TypeError: pipeline\(.*stage 2 is not a function/],
    ["retry(agent('x'))", /^TypeError: retry\(.*the first argument is not a function/],
    ["retry(() => agent('x'), 3)", /^TypeError: retry\(.*the options must be an object/],
    ["retry(() => agent('x'), { attempts: 6 })", /`attempts` must be a whole number from 1 to 5/],
    ["retry(() => agent('x'), { attempts: 0 })", /`attempts` must be a whole number from 1 to 5/],
    ["retry(() => agent('x'), { attempts: '2' })", /`attempts` must be a whole number/],
    ["retry(() => agent('x'), { backoff_ms: -1 })", /`backoff_ms` must be a whole number from 0 to 60000/],
    ["retry(() => agent('x'), { backoff_ms: 60001 })", /`backoff_ms` must be a whole number from 0 to 60000/],
    ["retry(() => agent('x'), { tries: 2 })", /has no option `tries`/],
    ["retry(() => agent('x'), { __proto__: null, toString: 2 })", /has no option `toString`/],
  ];
  for (const [call, message] of cases) {
    const outcome = await runGraph(engine, graph(`return await ${call}`));
    t.match(outcome, { status: 'failed', error: message }, call);
    if (!call.startsWith('retry(agent')) t.notOk(outcome.events.some(({ type }) => type === 'agent_started'));
  }
});

t.test('retry tells the attempt, doubles the wait each time, and gives the first success', async (t) => {
  const { clock, waits } = shortWaits(40, 80, 160);
  const engine = testEngine(t, { provider, ports: { ...testPorts, clock } });
  const body =
    "return await retry((attempt) => agent(attempt < 4 ? 'fail ' + attempt : 'ok'), { attempts: 5, backoff_ms: 40 })";
  const outcome = await runGraph(engine, graph(body));
  t.equal(outcome.resultJson, '"<ok>"');
  t.same(
    waits.filter((wait) => [40, 80, 160].includes(wait)),
    [40, 80, 160],
  );
  t.match(retriesOf(outcome.events), [
    /^retry_waits attempt=1 attempts=5 wait_ms=40 error="AgentError: no: fail 1 /,
    /^retry_waits attempt=2 attempts=5 wait_ms=80 error="AgentError: no: fail 2 /,
    /^retry_waits attempt=3 attempts=5 wait_ms=160 error="AgentError: no: fail 3 /,
  ]);
});

t.test('the last failure is what retry fails with, and one wait is bounded', async (t) => {
  const { clock } = shortWaits(50_000, 60_000);
  const engine = testEngine(t, { provider, ports: { ...testPorts, clock } });
  const body = "await retry((attempt) => agent('fail ' + attempt), { backoff_ms: 50000 })";
  const outcome = await runGraph(engine, graph(body));
  t.match(outcome, { status: 'failed', error: /^AgentError: no: fail 3 / });
  t.match(retriesOf(outcome.events), [/attempt=1 attempts=3 wait_ms=50000/, /attempt=2 attempts=3 wait_ms=60000/]);
});

t.test('what would be refused again is not tried again', async (t) => {
  const tools: ToolHost = { call: () => Promise.reject(new ToolRefused('the owner said no')) };
  const graphs = shelfOf({ greedy: graph("await agent('x'); await agent('y')", ', limits: { total_tokens: 5 }') });
  const engine = testEngine(t, { provider, tools, graphs });
  const meta = ", tools: ['web.no'], limits: { total_tokens: 30, agents: 5, tool_calls: 2, graph_calls: 3 }";
  const cases: [string, RegExp][] = [
    ["tool('web.no')", /^ToolRefused: the owner said no/],
    ["tool('web.other')", /^ToolRefused: .*not named/],
    ["tool('web.no').catch(() => tool('web.no').catch(() => tool('web.no')))", /^ToolLimitExceeded/],
    ["graph('missing')", /^GraphRefused/],
    ["graph('greedy')", /^GraphError: greedy: BudgetExceeded: the budget of 5 tokens is spent/],
    ["agent('x').then(() => agent('x')).then(() => agent('x')).then(() => agent('x'))", /^BudgetExceeded/],
    ["parallel([1, 2, 3, 4, 5, 6].map((n) => () => agent('fail'.repeat(n === 6 ? 0 : 1) + n)))", /^AgentError/],
    ['agent(5)', /^TypeError/],
    ["agent('x', { schema: { pattern: '(' } })", /^TypeError/],
  ];
  for (const [call, message] of cases) {
    const options = call.startsWith('parallel') ? '{ attempts: 1 }' : '{ attempts: 3, backoff_ms: 0 }';
    const outcome = await runGraph(engine, graph(`await retry(() => ${call}, ${options})`, meta));
    t.match(outcome, { status: 'failed', error: message }, call);
    t.same(retriesOf(outcome.events), [], call);
  }
  const limited = await runGraph(
    engine,
    graph(
      "await parallel([1, 2, 3].map(() => () => agent('fail').catch(() => 0))); await retry(() => agent('x'))",
      ', limits: { agents: 3 }',
    ),
  );
  t.match(limited, { status: 'failed', error: /^AgentLimitExceeded: a run can ask 3 agents/ });
  t.same(retriesOf(limited.events), []);
});

t.test('a nested failure that may go well the next time is tried again', async (t) => {
  const graphs = shelfOf({ flaky: graph("return await agent(args.n < 2 ? 'fail' : 'ok')") });
  const engine = testEngine(t, { provider, graphs });
  const outcome = await runGraph(engine, graph("return await retry((n) => graph('flaky', { n }), { backoff_ms: 0 })"));
  t.equal(outcome.resultJson, '"<ok>"');
  t.match(retriesOf(outcome.events), [/attempt=1 .*GraphError: flaky: AgentError: no: fail/]);
});

t.test('a cancel ends a wait at once, and no timer stays', async (t) => {
  const armed = new Set<object>();
  const after: Clock['after'] = (delayMs, run) => {
    const timer = realClock.after(delayMs, run);
    const note = {
      cancel: () => {
        armed.delete(note);
        timer.cancel();
      },
    };
    if (delayMs === 60_000) armed.add(note);
    return note;
  };
  const engine = testEngine(t, { provider, ports: { ...testPorts, clock: { ...realClock, after } } });
  const run = startGraph(engine, graph("await retry(() => agent('fail'), { backoff_ms: 60000 })"), {
    onEvent: (event, running) => event.type === 'retry_waits' && running().cancel('enough'),
  });
  t.match(await run.done, { status: 'cancelled', error: 'enough' });
  t.equal(armed.size, 0);
});

t.test('a loop around retry ends: a run waits only so often, nested Graphs included', async (t) => {
  const again =
    'for (;;) await retry(() => { throw new Error("x") }, { attempts: 2, backoff_ms: 0 }).catch((e) => { if (e.name !== "Error") throw e })';
  const graphs = shelfOf({ loops: graph(again) });
  const engine = testEngine(t, { graphs, limits: { retriesPerRun: 4 } });
  const outcome = await runGraph(engine, graph(`await graph('loops').catch(() => 0); ${again}`));
  t.match(outcome, {
    status: 'failed',
    error: /^RetryLimitExceeded: a run can wait for 4 retries and no more .*, caused by: x$/,
  });
  t.equal(retriesOf(outcome.events).length, 4);
});
