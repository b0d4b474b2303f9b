/** The sample Graphs are the first thing that a newcomer sees: they must run, with and without arguments. */
import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { parseGraph } from '../../desktop-agent/engine/graph-source.ts';
import { runGraph, testEngine } from './support.ts';

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
