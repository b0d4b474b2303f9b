import t from 'tap';
import type { AgentProvider } from '../../desktop-agent/engine/agent-provider.ts';
import { createScriptedProvider } from '../../desktop-agent/engine/providers/scripted.ts';
import { graph, heldProvider, runGraph, startGraph, testEngine } from './support.ts';

const fan = (count: number) =>
  `await parallel(Array.from({ length: ${count} }, (_, i) => () => agent('p' + i, { label: 'a' + i }).catch((e) => e.name)))`;

t.test('no more agents run at the same time than max_concurrency, and they start in order', async (t) => {
  const provider = heldProvider();
  const engine = testEngine(t, { provider });
  const run = startGraph(engine, graph(`return ${fan(5)}`, ', limits: { max_concurrency: 2 }'));
  await provider.until(2);
  await new Promise(setImmediate);
  t.same(
    provider.held.map(({ label }) => label),
    ['a0', 'a1'],
    'the third waits',
  );
  provider.held[1]?.answer('one', 1);
  await provider.until(3);
  t.equal(provider.held[2]?.label, 'a2');
  for (let index = 0; index < 5; index += 1) {
    await provider.until(index + 1);
    provider.held[index]?.answer(`answer ${index}`, 1);
  }
  const outcome = await run.done;
  t.equal(outcome.resultJson, '["answer 0","one","answer 2","answer 3","answer 4"]');
  let running = 0;
  let most = 0;
  for (const { type } of run.events) {
    if (type === 'agent_started') running += 1;
    if (type === 'agent_finished') running -= 1;
    most = Math.max(most, running);
  }
  t.equal(most, 2);
});

t.test('the default is four at a time, and the owner can allow fewer than the Graph wants', async (t) => {
  const provider = heldProvider();
  const engine = testEngine(t, { provider });
  const run = startGraph(engine, graph(`return ${fan(6)}`));
  await provider.until(4);
  await new Promise(setImmediate);
  t.equal(provider.held.length, 4);
  run.running.cancel('enough');
  const strict = heldProvider();
  const strictEngine = testEngine(t, { provider: strict, limits: { maxConcurrency: 1 } });
  const strictRun = startGraph(strictEngine, graph(`return ${fan(3)}`, ', limits: { max_concurrency: 16 }'));
  await strict.until(1);
  await new Promise(setImmediate);
  t.equal(strict.held.length, 1);
  strictRun.running.cancel('enough');
  await Promise.all([run.done, strictRun.done]);
});

t.test(
  'an agent that would start when the budget is spent is refused; what runs finishes, even above it',
  async (t) => {
    const provider = heldProvider();
    const engine = testEngine(t, { provider });
    const run = startGraph(
      engine,
      graph(
        `return [${fan(4)}, budget.spent(), budget.remaining()]`,
        ', limits: { max_concurrency: 2, total_tokens: 100 }',
      ),
    );
    await provider.until(2);
    provider.held[0]?.answer('first', 100);
    // The ceiling is reached while the second runs: it finishes, the waiting third and fourth never start.
    while (!run.events.some(({ type }) => type === 'agent_refused')) await new Promise(setImmediate);
    provider.held[1]?.answer('second', 70);
    const outcome = await run.done;
    t.equal(outcome.resultJson, '[["first","second","BudgetExceeded","BudgetExceeded"],170,0]');
    t.equal(outcome.totalTokens, 170);
    t.equal(provider.held.length, 2);
    const refused = run.events.filter((event) => event.type === 'agent_refused');
    t.same(
      refused.map(({ label }) => label),
      ['a2', 'a3'],
    );
    t.match(refused[0]?.reason, /budget of 100 tokens is spent \(100 used\)/);
  },
);

t.test('an agent below the ceiling starts, even when it will go above', async (t) => {
  const provider = createScriptedProvider({ script: () => ({ text: 'x', tokens: 99 }) });
  const engine = testEngine(t, { provider });
  const body = "const r = []; for (let i = 0; i < 4; i++) r.push(await agent('x').catch((e) => e.name)); return r";
  const outcome = await runGraph(engine, graph(body, ', limits: { total_tokens: 100 }'));
  t.equal(outcome.resultJson, '["x","x","BudgetExceeded","BudgetExceeded"]');
  t.equal(outcome.totalTokens, 198);
});

t.test("the lower of the Graph's and the owner's ceiling counts", async (t) => {
  const engine = testEngine(t, { limits: { totalTokens: 50 } });
  t.equal((await runGraph(engine, graph('return budget.total', ', limits: { total_tokens: 80 }'))).resultJson, '50');
  t.equal((await runGraph(engine, graph('return budget.total', ', limits: { total_tokens: 20 }'))).resultJson, '20');
  t.equal((await runGraph(engine, graph('return budget.total'))).resultJson, '50');
});

t.test('agents that are asked for together are one wave, whatever the concurrency', async (t) => {
  const engine = testEngine(t);
  const outcome = await runGraph(
    engine,
    graph(`${fan(3)}; await agent('x'); ${fan(2)}; return 1`, ', limits: { max_concurrency: 1 }'),
  );
  const waves = outcome.events.filter((event) => event.type === 'agent_started').map(({ wave }) => wave);
  t.same(waves, [1, 1, 1, 2, 3, 3]);
});

t.test('a run can ask only so many agents', async (t) => {
  const engine = testEngine(t, { limits: { agentsPerRun: 3 } });
  const outcome = await runGraph(engine, graph(`return ${fan(5)}`));
  t.match(
    outcome.resultJson,
    /\["\(scripted.*,"\(scripted.*,"\(scripted.*,"AgentLimitExceeded","AgentLimitExceeded"\]/,
  );
  t.equal(outcome.events.filter((event) => event.type === 'agent_started').length, 3);
});

t.test('prompts that are too long, alone or together, are refused in the Graph', async (t) => {
  const engine = testEngine(t, { limits: { promptChars: 100, waitingChars: 250 } });
  const body =
    "const n = (e) => e.name; return [await agent('x'.repeat(101)).catch(n), (await parallel([1, 2, 3].map(() => () => agent('x'.repeat(100)).catch(n)))).map((r) => r.length)]";
  const outcome = await runGraph(engine, graph(body));
  t.match(outcome.resultJson, /^\["RangeError",\[\d\d+,\d\d+,10\]\]$/);
});

t.test('a prompt arrives whole and well-formed, with its model and run id', async (t) => {
  const seen: unknown[] = [];
  const provider: AgentProvider = {
    ask: async ({ prompt, model, runId, label }) => {
      seen.push({ prompt, model, runId, label });
      return { text: 'ok', tokens: 1, costUsd: 0.25 };
    },
  };
  const engine = testEngine(t, { provider });
  const outcome = await runGraph(
    engine,
    graph(String.raw`await agent('ü😀\0\ud800', { model: 'm1' }); await agent('b'); return 1`),
  );
  const runId = outcome.events[0]?.type === 'fleet_started' ? outcome.events[0].run_id : '';
  t.same(seen, [
    { prompt: 'ü😀\0\ufffd', model: 'm1', runId, label: 'agent 1' },
    { prompt: 'b', model: undefined, runId, label: 'agent 2' },
  ]);
  t.equal(outcome.reportedCost, 0.5);
});

t.test('providers that misbehave fail their agent and nothing else', async (t) => {
  const answers: unknown[] = [
    undefined,
    { text: 5, tokens: 1 },
    { text: 'x', tokens: Number.NaN },
    { text: 'x', tokens: -1 },
    { text: 'x'.repeat(2_000), tokens: 1 },
  ];
  let next = 0;
  const provider = {
    ask: () => {
      next += 1;
      if (next > answers.length)
        throw {
          toString: () => {
            throw new Error('bomb');
          },
        };
      return Promise.resolve(answers[next - 1]);
    },
  } as unknown as AgentProvider;
  const engine = testEngine(t, { provider, limits: { answerChars: 1_000 } });
  const body =
    "const r = []; for (let i = 0; i < 6; i++) r.push(await agent('x').catch((e) => e.name + ': ' + e.message)); return r";
  const outcome = await runGraph(engine, graph(body));
  t.equal(outcome.status, 'completed');
  const said = JSON.parse(outcome.resultJson ?? '') as string[];
  t.equal(said.length, 6);
  for (const text of said) t.match(text, /^AgentError: ./);
  t.equal(outcome.totalTokens, 0);
});

t.test("a provider's error text is cleaned before the Graph and the outcome get it", async (t) => {
  const provider = createScriptedProvider({ script: () => new Error(`a\0b\ud800${'😀'.repeat(5_000)}`) });
  const engine = testEngine(t, { provider });
  const { error } = await runGraph(engine, graph("await agent('x')"));
  t.ok(error?.startsWith('AgentError: ab\ufffd😀'));
  t.ok(error?.isWellFormed());
  t.ok((error?.length ?? 0) <= 2_000);
});
