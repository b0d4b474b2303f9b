/** `tool(name, input)`: only what meta names, by the tool host, bounded, and told in events. */
import t from 'tap';
import { type ToolHost, ToolRefused, type ToolRequest } from '../../desktop-agent/engine/tool-host.ts';
import { graph, runGraph, startGraph, testEngine, told } from './support.ts';

const TOOLS = ", tools: ['files.read', 'web.*']";

const echo: ToolHost = { call: async ({ tool, input }) => ({ tool, input }) };

t.test('a tool gets its input and gives back a value, and both are told', async (t) => {
  const seen: Partial<ToolRequest>[] = [];
  const tools: ToolHost = {
    call: async ({ tool, input, call, commandId, runId }) => {
      seen.push({ tool, input, call, commandId, runId });
      return { lines: [1, 'ü'] };
    },
  };
  const engine = testEngine(t, { tools });
  const outcome = await runGraph(engine, graph("return await tool('files.read', { path: 'a' })", TOOLS));
  t.equal(outcome.resultJson, '{"lines":[1,"ü"]}');
  const runId = outcome.events[0]?.type === 'fleet_started' ? outcome.events[0].run_id : '';
  t.match(seen, [{ tool: 'files.read', input: { path: 'a' }, call: 1, commandId: outcome.commandId, runId }]);
  t.same(told(outcome.events, 'call', 'tool', 'input', 'ok', 'output', 'error'), [
    'fleet_started',
    'tool_started call=1 tool="files.read" input={"path":"a"}',
    'tool_finished call=1 tool="files.read" ok=true output={"lines":[1,"ü"]} error=null',
    'finished error=null',
  ]);
});

t.test('a tool that meta does not name is refused, and the host is not asked', async (t) => {
  let asked = 0;
  const tools: ToolHost = {
    call: async () => {
      asked += 1;
    },
  };
  const engine = testEngine(t, { tools });
  const body = "return await tool(args.tool).then(() => 'called', (e) => [e.name, e.message])";
  for (const tool of ['files.write', 'files', 'files.read.more', 'webs.get', 'web', '']) {
    const { resultJson, events } = await runGraph(engine, graph(body, TOOLS), { args: { tool } });
    t.match(JSON.parse(resultJson ?? ''), ['ToolRefused', /is not named in `meta\.tools` of test\.js/], tool);
    t.same(told(events, 'call'), ['fleet_started', 'tool_refused call=1', 'finished']);
  }
  t.equal(asked, 0);
  for (const tool of ['files.read', 'web.get', 'web.a.b']) {
    t.equal((await runGraph(engine, graph(body, TOOLS), { args: { tool } })).resultJson, '"called"', tool);
  }
  t.match(await runGraph(engine, graph("await tool('files.read')")), { status: 'failed', error: /^ToolRefused: / });
});

t.test('what the host refuses is ToolRefused, what fails is ToolError', async (t) => {
  const tools: ToolHost = {
    call: async ({ tool }) => {
      if (tool === 'web.no') throw new ToolRefused('the owner said no');
      throw new Error('no such page');
    },
  };
  const engine = testEngine(t, { tools });
  const body =
    "const n = (e) => [e.name, e.message]; return [await tool('web.no').catch(n), await tool('web.x').catch(n)]";
  const outcome = await runGraph(engine, graph(body, TOOLS));
  t.equal(outcome.resultJson, '[["ToolRefused","the owner said no"],["ToolError","no such page"]]');
  t.same(told(outcome.events, 'call', 'ok', 'error', 'reason'), [
    'fleet_started',
    'tool_started call=1',
    'tool_refused call=1 reason="the owner said no"',
    'tool_started call=2',
    'tool_finished call=2 ok=false error="no such page"',
    'finished error=null',
  ]);
});

t.test('without a tool host each tool is refused', async (t) => {
  const outcome = await runGraph(testEngine(t), graph("await tool('web.get')", TOOLS));
  t.match(outcome, { status: 'failed', error: /^ToolRefused: there is no tool "web\.get"/ });
});

t.test('input and output are bounded JSON', async (t) => {
  const outputs: unknown[] = ['x'.repeat(98), undefined, 5n, [[[['deep']]]]];
  const tools: ToolHost = { call: async ({ input }) => outputs[Number(input)] };
  const engine = testEngine(t, { tools, limits: { toolInputChars: 50, toolOutputChars: 100, resultDepth: 3 } });
  const body = `const n = (e) => e.name + ': ' + e.message; const call = (input) => tool('web.x', input).catch(n);
    return [await call('x'.repeat(49)), await call(() => 1), await call([[[[1]]]]),
      (await call(0)).length, await call(1), await call(2), await call(3)]`;
  const outcome = await runGraph(engine, graph(body, TOOLS));
  t.match(JSON.parse(outcome.resultJson ?? '[]'), [
    /^RangeError: tool\(\): the input has 51 characters, and may have 50$/,
    /^TypeError: input is a function, which JSON cannot hold$/,
    /^TypeError: the input is nested deeper than 3 levels$/,
    98,
    null,
    /^ToolError: .*BigInt/,
    /^ToolError: .*deeper than 3 levels/,
  ]);
  const small = testEngine(t, { tools, limits: { toolOutputChars: 100 } });
  outputs[0] = 'x'.repeat(100);
  const refused = await runGraph(small, graph("await tool('web.x', 0)", TOOLS));
  t.match(refused, { status: 'failed', error: /gave 102 characters of JSON; at most 100/ });
});

t.test('a run can call only so many tools, and meta can lower that', async (t) => {
  const body =
    "const r = []; for (let i = 0; i < 5; i++) r.push(await tool('web.x').then(() => 1, (e) => e.name)); return r";
  const expected = '[1,1,"ToolLimitExceeded","ToolLimitExceeded","ToolLimitExceeded"]';
  const owner = await runGraph(testEngine(t, { tools: echo, limits: { toolCallsPerRun: 2 } }), graph(body, TOOLS));
  t.equal(owner.resultJson, expected);
  const meta = await runGraph(testEngine(t, { tools: echo }), graph(body, `${TOOLS}, limits: { tool_calls: 2 }`));
  t.equal(meta.resultJson, expected);
  t.equal(meta.events.filter(({ type }) => type === 'tool_refused').length, 3);
});

t.test(
  'only so many tools work at the same time, in the order of asking; one that waits for the owner takes no place',
  async (t) => {
    const open: { request: ToolRequest; answer: (value: unknown) => void }[] = [];
    let arrived: () => void = () => undefined;
    const tools: ToolHost = {
      call: (request) =>
        new Promise((resolve) => {
          open.push({ request, answer: resolve });
          arrived();
        }),
    };
    const until = async (count: number): Promise<void> => {
      while (open.length < count) await new Promise<void>((resolve) => (arrived = resolve));
    };
    const engine = testEngine(t, { tools, limits: { toolsAtOnce: 2 } });
    const body = "return await parallel([0, 1, 2, 3].map((i) => () => tool('web.x', i)))";
    const running = runGraph(engine, graph(body, TOOLS));
    await until(2);
    await new Promise(setImmediate);
    t.same(
      open.map(({ request }) => request.input),
      [0, 1],
    );
    const asked = { approval: 'a1', call: 1, tool: 'web.x', input: 0 };
    open[0]?.request.onEvent({ type: 'approval_asked', ...asked });
    await until(3);
    open[1]?.answer('one');
    await until(4);
    for (const { answer, request } of open) answer(request.input);
    const outcome = await running;
    t.equal(outcome.resultJson, '[0,"one",2,3]');
    t.ok(told(outcome.events, 'approval').includes('approval_asked approval="a1"'));
  },
);

t.test('a tool is told when its run ends, and what it says later changes nothing', async (t) => {
  const requests: ToolRequest[] = [];
  const { promise: bothAsked, resolve } = Promise.withResolvers<void>();
  const tools: ToolHost = {
    call: (request) => {
      if (requests.push(request) === 2) resolve();
      return new Promise((_, reject) => request.signal.addEventListener('abort', () => reject(request.signal.reason)));
    },
  };
  const engine = testEngine(t, { tools });
  const run = startGraph(engine, graph("tool('web.x'); return await tool('web.y').catch(() => 5)", TOOLS));
  await bothAsked;
  run.running.cancel('enough');
  t.match(await run.done, { status: 'cancelled', error: 'enough' });
  t.same(
    requests.map(({ signal }) => signal.aborted),
    [true, true],
  );
  requests[0]?.onEvent({ type: 'approval_asked', approval: 'late', call: 1, tool: 'web.x', input: {} });
  t.same(told(run.events.slice(-3), 'call', 'ok'), [
    'tool_finished call=1 ok=false',
    'tool_finished call=2 ok=false',
    'finished',
  ]);
});

t.test('a run that is cancelled by who hears of a tool does not call it', async (t) => {
  let asked = 0;
  const tools: ToolHost = {
    call: async () => {
      asked += 1;
    },
  };
  const outcome = await runGraph(testEngine(t, { tools }), graph("await tool('web.x')", TOOLS), {
    onEvent: (event, running) => event.type === 'tool_started' && running().cancel('not this'),
  });
  t.match(outcome, { status: 'cancelled', error: 'not this' });
  t.equal(asked, 0);
});

t.test('wrong arguments of tool are refused with a TypeError', async (t) => {
  t.match(await runGraph(testEngine(t), graph('await tool(5)')), {
    error: /^TypeError: tool\(name, input\): the name/,
  });
});
