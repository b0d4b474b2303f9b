/** `graph(ref, args)`: another Graph in a sandbox of its own, which can never take more than its caller had. */
import t from 'tap';
import type { GraphShelf } from '../../desktop-agent/engine/graph-shelf.ts';
import { createScriptedProvider } from '../../desktop-agent/engine/providers/scripted.ts';
import type { ToolHost } from '../../desktop-agent/engine/tool-host.ts';
import { graph, heldProvider, runGraph, shelfOf, startGraph, testEngine, told } from './support.ts';

const provider = createScriptedProvider({ script: (prompt) => ({ text: `<${prompt}>`, tokens: 10 }) });
const caught = (call: string) => `return await ${call}.catch((e) => e.name + ': ' + e.message)`;

t.test('a Graph gets the arguments and its caller gets what it returns', async (t) => {
  const graphs = shelfOf({ child: graph("log('in'); return { got: args, said: await agent('hi'), own: meta.name }") });
  const engine = testEngine(t, { provider, graphs });
  const outcome = await runGraph(engine, graph("log('out'); return await graph('child', { a: [1] })"));
  t.same(JSON.parse(outcome.resultJson ?? ''), { got: { a: [1] }, said: '<hi>', own: 'Test' });
  t.same(
    told(outcome.events, 'graph', 'slug', 'version', 'args', 'ok', 'error', 'agent', 'wave', 'within', 'message'),
    [
      'fleet_started',
      'log message="out"',
      'graph_started graph=1 slug="child" version=1 args={"a":[1]}',
      'log within=1 message="in"',
      'wave_started wave=1',
      'agent_started agent=1 wave=1 within=1',
      'agent_finished ok=true error=null agent=1 within=1',
      'wave_finished wave=1',
      'graph_finished graph=1 slug="child" ok=true error=null',
      'finished error=null',
    ],
  );
  t.equal(outcome.totalTokens, 10);
});

t.test('a nested failure is a GraphError with its message', async (t) => {
  const graphs = shelfOf({ bad: graph("await agent('x'); null.foo"), middle: graph("return await graph('bad')") });
  const engine = testEngine(t, { provider, graphs });
  const outcome = await runGraph(engine, graph(caught("graph('middle')")));
  t.match(JSON.parse(outcome.resultJson ?? ''), /^GraphError: middle: GraphError: bad: TypeError: .*bad\.js:1:\d+/);
  t.same(
    outcome.events.flatMap((event) => (event.type === 'graph_finished' ? [[event.graph, event.ok, event.within]] : [])),
    [
      [2, false, 1],
      [1, false, undefined],
    ],
  );
  t.match(await runGraph(engine, graph("await graph('bad')")), { status: 'failed', error: /^GraphError: bad: / });
});

t.test('circles are refused with their path, and so is a fourth level', async (t) => {
  const graphs = shelfOf({
    a: graph("return await graph('b')"),
    b: graph("return await graph('a')"),
    self: graph("return await graph('self')"),
    one: graph("return await graph('two')"),
    two: graph("return await graph('three')"),
    three: graph('return 3'),
  });
  const engine = testEngine(t, { graphs });
  const circle = await runGraph(engine, graph(caught("graph('b')"), ", slug: 'a'"));
  t.match(JSON.parse(circle.resultJson ?? ''), /GraphRefused: .*circle: a → b → a/);
  const self = await runGraph(engine, graph(caught("graph('self')")), { name: 'self.js' });
  t.match(JSON.parse(self.resultJson ?? ''), /^GraphRefused: .*: self → self$/);
  const deep = await runGraph(engine, graph(caught("graph('one')"), ", slug: 'zero'"));
  t.match(JSON.parse(deep.resultJson ?? ''), /GraphRefused: .*3 deep.*: zero → one → two → three/);
  t.match(
    told(deep.events, 'slug', 'within').filter((line) => line.startsWith('graph_refused')),
    ['graph_refused slug="three" within=2'],
  );
  t.equal((await runGraph(engine, graph(caught("graph('two')")))).resultJson, '3', 'three levels are fine');
});

t.test('a Graph that is not there, is broken or has other arguments does not run', async (t) => {
  const graphs: GraphShelf = {
    find: async (reference) => {
      if (reference === 'throws') throw new Error('the folder is gone');
      return shelfOf({
        broken: "export const meta = { name: 'x' };\nlet = 5 5;",
        picky: graph('return 1', ", arguments: { type: 'object', required: ['to'] }"),
      }).find(reference);
    },
  };
  const engine = testEngine(t, { graphs });
  const cases: [string, RegExp][] = [
    ["graph('missing')", /^GraphRefused: there is no Graph "missing" on this desktop/],
    ["graph('throws')", /^GraphRefused: the folder is gone/],
    ["graph('broken')", /^GraphRefused: broken\.js:2:\d+: /],
    ["graph('picky', {})", /^GraphError: picky: arguments: .*"to".*Nothing was started\.$/],
    ["graph('picky', [])", /^TypeError: graph\(ref, args\): the arguments must be an object$/],
    ['graph(5)', /^TypeError: graph\(ref, args\): the ref must be a text/],
  ];
  for (const [call, message] of cases) {
    const outcome = await runGraph(engine, graph(caught(call)));
    t.match(JSON.parse(outcome.resultJson ?? ''), message, call);
    t.notOk(outcome.events.some(({ type }) => type === 'agent_started'));
  }
  const none = await runGraph(testEngine(t), graph(caught("graph('x')")));
  t.match(JSON.parse(none.resultJson ?? ''), /^GraphRefused: there is no Graph "x"/);
});

t.test('cancel ends a nested Graph that computes, its worker and its agents', async (t) => {
  const held = heldProvider();
  const graphs = shelfOf({ waits: graph("await agent('x')"), loops: graph("log('in'); for (;;);") });
  const engine = testEngine(t, { provider: held, graphs, keepWarm: false, limits: { cpuSliceMs: 600_000 } });
  const run = startGraph(engine, graph("await parallel([() => graph('waits'), () => graph('loops')])"), {
    onEvent: (event) => event.type === 'log' && inLoop(),
  });
  let inLoop: () => void = () => undefined;
  await Promise.all([held.until(1), new Promise<void>((resolve) => (inLoop = resolve))]);
  t.equal(engine.livingSandboxes(), 3);
  run.running.cancel('stop all');
  t.match(await run.done, { status: 'cancelled', error: 'stop all' });
  t.equal(held.held[0]?.signal.aborted, true);
  await engine.close();
  t.equal(engine.livingSandboxes(), 0);
  t.equal(run.events.filter(({ type }) => type === 'graph_finished').length, 2);
  t.equal(run.events.at(-1)?.type, 'finished');
});

t.test('nothing that waits for its turn starts when its run ends, in whichever Graph it was asked for', async (t) => {
  const held = heldProvider();
  const called: string[] = [];
  const tools: ToolHost = {
    call: ({ tool, signal }) => {
      called.push(tool);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  };
  const meta = ", tools: ['box.*'], limits: { max_concurrency: 1 }";
  const graphs = shelfOf({
    busy: graph("await parallel([() => agent('inner'), () => tool('box.inner')])", meta),
    other: graph("await agent('other')", meta),
  });
  const engine = testEngine(t, { provider: held, tools, graphs, limits: { graphsAtOnce: 1, toolsAtOnce: 1 } });
  // All of the called Graph has its turn before the outermost asks for more, which says so in its log.
  const body = `const inner = graph('busy'); inner.catch(() => 0); await agent('go').catch(() => 0);
    agent('outer').catch(() => 0); tool('box.outer').catch(() => 0); graph('other').catch(() => 0); log('asked'); await inner`;
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const run = startGraph(engine, graph(body, meta), { onEvent: ({ type }) => type === 'log' && resolve() });
  await held.until(1);
  while (called.length < 1) await new Promise(setImmediate);
  const isFirst = held.held[0]?.prompt === 'go';
  held.held[0]?.answer('', 1);
  await held.until(2);
  // Which of the two was asked first is up to the workers; afterwards the inner one runs.
  if (!isFirst) held.held[1]?.answer('', 1);
  await asked;
  const before = { agents: held.held.length, tools: called.length };
  run.running.cancel('enough');
  t.match(await run.done, { status: 'cancelled' });
  await new Promise(setImmediate);
  t.same({ agents: held.held.length, tools: called.length }, before);
  t.equal(run.events.filter(({ type }) => type === 'graph_started').length, 1);
  t.equal(run.events.at(-1)?.type, 'finished');
});
