/** The same answers give the same run: nothing of a run depends on chance, on clocks or on who answers first. */
import t from 'tap';
import { createScriptedProvider } from '../../desktop-agent/engine/providers/scripted.ts';
import type { GraphEvent } from '../../desktop-agent/run-events.ts';
import { graph, heldProvider, runGraph, shelfOf, startGraph, testEngine } from './support.ts';

/** Events without what is measured or drawn: durations and the run's id. */
function lasting(events: readonly GraphEvent[]): unknown[] {
  return events.map((event) => {
    const { duration_ms: _, run_id: __, ...rest } = event as GraphEvent & { duration_ms?: number; run_id?: string };
    return rest;
  });
}

const EVERYTHING = graph(
  `phase('one');
  const facts = await parallel(['a', 'b', 'c'].map((x) => () => agent(x, { label: x })));
  const flow = await pipeline(facts, (v) => agent('first ' + v), (v, item, i) => agent(i + v));
  const twice = await retry((n) => agent(n === 1 ? 'fail' : 'ok'), { backoff_ms: 0 });
  const child = await graph('child', { facts });
  const seen = await tool('web.get', { facts });
  log({ spent: budget.spent(), keys: Object.keys({ b: 1, a: 2, 1: 3 }), sorted: [3, 1, 2].sort() });
  return { facts, flow, twice, child, seen, set: [...new Set(facts)] };`,
  ", tools: ['web.get'], limits: { max_concurrency: 2 }",
);

t.test('a run with the same answers has the same events in the same order, each time', async (t) => {
  const provider = createScriptedProvider({
    script: (prompt) => (prompt === 'fail' ? new Error('no') : { text: `<${prompt}>`, tokens: prompt.length }),
  });
  const graphs = shelfOf({ child: graph("return await parallel(args.facts.map((f) => () => agent('child ' + f)))") });
  const engine = testEngine(t, { provider, graphs, tools: { call: async ({ input }) => ({ input }) } });
  const first = await runGraph(engine, EVERYTHING);
  t.equal(first.status, 'completed', first.error ?? '');
  t.ok(first.events.length > 40);
  for (let again = 0; again < 3; again += 1) {
    const next = await runGraph(engine, EVERYTHING);
    t.equal(next.resultJson, first.resultJson);
    t.same(lasting(next.events), lasting(first.events));
  }
});

/** Answers all that is open in the order that `pick` says, and again when more is asked, until the run is over. */
async function runAnswering(
  t: Parameters<typeof testEngine>[0],
  pick: (open: number) => number,
): Promise<{ result: unknown; asked: string[]; numbers: unknown[] }> {
  const provider = heldProvider();
  const source = graph(
    `const topics = ['a', 'b', 'c', 'd'];
    const notes = await parallel(topics.map((x) => () => agent('note ' + x, { label: x })));
    const sum = await agent('sum ' + notes.join());
    const flow = await pipeline(topics, (x) => agent('flow ' + x));
    return { notes, sum, flow, spent: budget.spent() };`,
  );
  const run = startGraph(testEngine(t, { provider }), source);
  let answered = 0;
  for (const wave of [4, 1, 4]) {
    await provider.until(answered + wave);
    const open = provider.held.slice(answered, answered + wave);
    answered += wave;
    while (open.length > 0) {
      const [next] = open.splice(pick(open.length), 1);
      next?.answer(`<${next.prompt}>`, next.prompt.length);
      // The Graph hears of each answer before the next one.
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    }
  }
  const outcome = await run.done;
  return {
    result: JSON.parse(outcome.resultJson ?? ''),
    asked: provider.held.map(({ prompt }) => prompt),
    numbers: run.events.flatMap((event) =>
      event.type === 'agent_started' ? [[event.agent, event.label, event.wave, event.prompt]] : [],
    ),
  };
}

t.test('who answers first changes neither the result nor the calls and their numbers', async (t) => {
  const inOrder = await runAnswering(t, () => 0);
  const backwards = await runAnswering(t, (open) => open - 1);
  const fromTheMiddle = await runAnswering(t, (open) => Math.floor(open / 2));
  t.same(backwards, inOrder);
  t.same(fromTheMiddle, inOrder);
  t.same(
    inOrder.numbers.map((entry) => (entry as unknown[])[0]),
    [1, 2, 3, 4, 5, 6, 7, 8, 9],
  );
});

t.test('a number belongs to the asking: one that waits for its turn keeps it', async (t) => {
  const provider = heldProvider();
  const body = "await parallel([1, 2, 3].map((n) => () => agent('p' + n)))";
  const run = startGraph(testEngine(t, { provider }), graph(body, ', limits: { max_concurrency: 1 }'));
  for (let index = 0; index < 3; index += 1) {
    await provider.until(index + 1);
    provider.held[index]?.answer('', 1);
  }
  await run.done;
  const started = run.events.flatMap((event) =>
    event.type === 'agent_started' ? [[event.agent, event.prompt, event.label]] : [],
  );
  t.same(started, [
    [1, 'p1', 'agent 1'],
    [2, 'p2', 'agent 2'],
    [3, 'p3', 'agent 3'],
  ]);
});
