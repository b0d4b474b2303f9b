/** Arguments are checked against the Graph's own schema before anything starts. */
import t from 'tap';
import { graph, runGraph, startGraph, testEngine } from './support.ts';

const META = ", arguments: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] }";

t.test('arguments that fit reach the Graph', async (t) => {
  const outcome = await runGraph(testEngine(t), graph('return args.to', META), { args: { to: 'Ada' } });
  t.match(outcome, { status: 'completed', resultJson: '"Ada"' });
});

t.test('arguments that do not fit end the run with the place, and no agent starts', async (t) => {
  const run = startGraph(testEngine(t), graph("await agent('never')", META), { args: { to: 7 } });
  t.match(await run.done, { status: 'failed', error: /arguments\.to: .*Nothing was started\./ });
  t.notOk(run.events.some(({ type }) => type === 'agent_started'));
});

t.test('a schema that cannot be used is an error of the file, with its place', async (t) => {
  const outcome = await runGraph(testEngine(t), graph('return 1', ", arguments: { type: 'array' }"));
  t.match(outcome, { status: 'failed', error: /\.js:1:\d+: meta\.arguments: must have `type: "object"`/ });
});
