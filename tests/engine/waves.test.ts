/** Waves: what is asked for together, from its first agent to its last, in all Graphs of a run. */
import t from 'tap';
import { createScriptedProvider } from '../../desktop-agent/engine/providers/scripted.ts';
import { graph, heldProvider, runGraph, shelfOf, startGraph, testEngine, told } from './support.ts';

const provider = createScriptedProvider({ script: (prompt) => ({ text: `<${prompt}>`, tokens: 10 }) });

const waves = (events: Parameters<typeof told>[0]): string[] =>
  told(events, 'wave', 'agents', 'tokens').filter((line) => line.startsWith('wave_'));

t.test('a wave is told from its first agent to its last, with what it used', async (t) => {
  const body = `await parallel(['a', 'b', 'c'].map((x) => () => agent(x))); await agent('d'); log('between');
    await pipeline(['e', 'f'], (x) => agent(x))`;
  // The scripted answers come at once, and the third waits for a place: it is one wave all the same.
  const outcome = await runGraph(testEngine(t, { provider }), graph(body, ', limits: { max_concurrency: 2 }'));
  t.same(waves(outcome.events), [
    'wave_started wave=1',
    'wave_finished wave=1 agents=3 tokens=30',
    'wave_started wave=2',
    'wave_finished wave=2 agents=1 tokens=10',
    'wave_started wave=3',
    'wave_finished wave=3 agents=2 tokens=20',
  ]);
  const types = outcome.events.map(({ type }) => type);
  t.ok(types.indexOf('wave_finished') < types.indexOf('log'), 'it is over when its agents are');
});

t.test('what is asked for while a wave goes on belongs to it, also by a called Graph', async (t) => {
  const held = heldProvider();
  const graphs = shelfOf({ child: graph("await agent('inner')") });
  const body = "await parallel([() => agent('long'), async () => { await graph('child'); await agent('after') }])";
  const run = startGraph(testEngine(t, { provider: held, graphs }), graph(body));
  await held.until(2);
  held.held[1]?.answer('', 5);
  await held.until(3);
  held.held[2]?.answer('', 5);
  held.held[0]?.answer('', 5);
  await run.done;
  t.same(waves(run.events), ['wave_started wave=1', 'wave_finished wave=1 agents=3 tokens=15']);
});

t.test('agents that are refused make no wave, and a cancel ends the one that goes on', async (t) => {
  const body = "await agent('a'); await agent('b').catch(() => 0)";
  const refused = await runGraph(testEngine(t, { provider }), graph(body, ', limits: { total_tokens: 5 }'));
  t.same(waves(refused.events), ['wave_started wave=1', 'wave_finished wave=1 agents=1 tokens=10']);
  t.equal(refused.events.filter(({ type }) => type === 'agent_refused').length, 1);
  const held = heldProvider();
  const run = startGraph(testEngine(t, { provider: held }), graph("await agent('x')"));
  await held.until(1);
  run.running.cancel('enough');
  await run.done;
  t.same(told(run.events.slice(-2), 'agents'), ['wave_finished agents=1', 'finished']);
});
