/** Each hostile Graph ends with its reason, changes nothing outside, and the next run works. */
import { readdirSync } from 'node:fs';
import t from 'tap';
import { HOSTILE_GRAPHS, HOSTILE_SHELF, hostileWorld } from './hostile-graphs.ts';
import { graph, runGraph, shelfOf, testEngine } from './support.ts';

const limits = { cpuSliceMs: 400, stuckMarginMs: 700 };
const engine = testEngine(t, { ...hostileWorld(true), graphs: shelfOf(HOSTILE_SHELF), limits });

/** What of this process a Graph might change. */
function surroundings(): unknown {
  const holders = [globalThis, Object.prototype, Array.prototype, Function.prototype, Promise.prototype, JSON, Math];
  return [
    holders.map((holder) => Reflect.ownKeys(holder).map(String)),
    { ...process.env },
    process.cwd(),
    readdirSync('.').sort(),
  ];
}

t.ok(HOSTILE_GRAPHS.length >= 10);

for (const { name, source, ends } of HOSTILE_GRAPHS) {
  t.test(`a Graph that ${name} fails with its reason, changes nothing, and the next run works`, async (t) => {
    const before = surroundings();
    const outcome = await runGraph(engine, source);
    t.match(outcome, { status: 'failed', resultJson: null, error: ends });
    t.equal(outcome.events.filter(({ type }) => type === 'finished').length, 1);
    t.equal(outcome.events.at(-1)?.type, 'finished');
    t.ok(outcome.events.length < 20_000, `${outcome.events.length} events`);
    t.same(surroundings(), before);
    const next = await runGraph(engine, graph("return [await agent('ok'), JSON.stringify({}), ({}).polluted ?? null]"));
    t.match(next, { status: 'completed', resultJson: '["OK","{}",null]' });
  });
}
