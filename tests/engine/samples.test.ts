/** The sample Graphs are the first thing that a newcomer sees: they must run, with and without arguments. */
import { readdirSync, readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import type { EngineOptions, GraphEngine } from '../../desktop-agent/engine/engine.ts';
import type { GraphShelf } from '../../desktop-agent/engine/graph-shelf.ts';
import { parseGraph } from '../../desktop-agent/engine/graph-source.ts';
import { createCommandProvider } from '../../desktop-agent/engine/providers/command.ts';
import { withStructuredAnswers } from '../../desktop-agent/engine/structured-answers.ts';
import { realClock, runGraph, testEngine, testPorts } from './support.ts';

const folder = new URL('../../desktop-agent/samples/', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, folder), 'utf8');
const engine = testEngine(t);

t.test('each sample has a name, a description and a slug that is its file name', async (t) => {
  const files = readdirSync(folder).filter((file) => file.endsWith('.js'));
  t.ok(files.length >= 2);
  for (const file of files) {
    const { meta } = parseGraph(read(file), file);
    t.equal(meta.slug, file.replace('.js', ''));
    t.ok(meta.name && meta.description);
  }
});

t.test('hello greets the world, or who is named', async (t) => {
  const world = await runGraph(engine, read('hello.js'));
  t.match(JSON.parse(world.resultJson ?? ''), { name: 'world', greeting: /hello to world/ });
  const ada = await runGraph(engine, read('hello.js'), { args: { name: ' Ada ' } });
  t.match(JSON.parse(ada.resultJson ?? ''), { name: 'Ada', greeting: /hello to Ada/, tokens: ada.totalTokens });
});

t.test('fan-out asks about each topic in one wave, and sums up in the next', async (t) => {
  const outcome = await runGraph(engine, read('fan-out.js'), { args: { topics: ['bees', 'glass'] } });
  const result = JSON.parse(outcome.resultJson ?? '');
  t.match(result, {
    summary: /connects these facts/,
    notes: [
      { topic: 'bees', note: /about bees/ },
      { topic: 'glass', note: /about glass/ },
    ],
  });
  const started = outcome.events.flatMap((event) =>
    event.type === 'agent_started' ? [[event.label, event.wave]] : [],
  );
  t.same(started, [
    ['research: bees', 1],
    ['research: glass', 1],
    ['summary', 2],
  ]);
  t.same(
    outcome.events.flatMap((event) => (event.type === 'phase' ? [event.title] : [])),
    ['Research', 'Summary'],
  );
  const byDefault = await runGraph(engine, read('fan-out.js'));
  t.equal(JSON.parse(byDefault.resultJson ?? '').notes.length, 3);
});

/** A real program as the agent: shouts the prompt's last line back, and answers with JSON where a shape is wanted. */
const SHOUT = ['sh', '-c', 'tail -n 1 | tr a-z A-Z'];

function withProgram(command: readonly string[], t: Test, more: Partial<EngineOptions> = {}): GraphEngine {
  const provider = createCommandProvider({ command, timeoutMs: 60_000, clock: realClock });
  return testEngine(t, { provider: withStructuredAnswers(provider), ...more });
}

const shelf: GraphShelf = {
  find: async (reference) => ({
    slug: reference,
    version: 1,
    name: `${reference}.js`,
    source: read(`${reference}.js`),
  }),
};

t.test('briefing calls fan-out, whose agents are in its own bill', async (t) => {
  const outcome = await runGraph(withProgram(SHOUT, t, { graphs: shelf }), read('briefing.js'), {
    args: { topics: ['ice'] },
  });
  t.match(JSON.parse(outcome.resultJson ?? outcome.error ?? ''), {
    briefing: /^ICE: TELL ME THE MOST SURPRISING FACT ABOUT ICE/,
    notes: [{ topic: 'ice', note: /^TELL ME/ }],
    tokens: outcome.totalTokens,
  });
  t.same(
    outcome.events.flatMap((event) => (event.type === 'agent_started' ? [[event.label, event.within]] : [])),
    [
      ['research: ice', 1],
      ['summary', 1],
      ['briefing', undefined],
    ],
  );
});

t.test('triage gives the shape that it promises', async (t) => {
  const verdict = JSON.stringify({ urgency: 'now', team: 'fire', why: 'smoke' });
  const outcome = await runGraph(withProgram(['echo', verdict], t), read('triage.js'), { args: { message: 'Smoke!' } });
  t.match(JSON.parse(outcome.resultJson ?? ''), { urgency: 'now', team: 'fire', why: 'smoke' });
});

/** The waits of `retry` are over at once. */
const impatient = {
  ...testPorts,
  clock: {
    ...realClock,
    after: (ms: number, run: () => void) => realClock.after([1_000, 2_000].includes(ms) ? 0 : ms, run),
  },
};

t.test('triage tries again, and in the end hands the message to a person', async (t) => {
  const outcome = await runGraph(
    withProgram(['sh', '-c', 'echo busy >&2; exit 1'], t, { ports: impatient }),
    read('triage.js'),
    {
      args: { message: 'Smoke!' },
    },
  );
  t.match(JSON.parse(outcome.resultJson ?? ''), { urgency: 'now', team: 'whoever is on duty', why: /busy/ });
  t.equal(outcome.events.filter(({ type }) => type === 'agent_started').length, 3);
});
