import { readdirSync } from 'node:fs';
import t from 'tap';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import type { AgentProvider } from '../../desktop-agent/engine/agent-provider.ts';
import { createScriptedProvider } from '../../desktop-agent/engine/providers/scripted.ts';
import type { Clock } from '../../protocol/ports.ts';
import { graph, heldProvider, realClock, runGraph, shelfOf, startGraph, testEngine, testPorts } from './support.ts';

t.test('a cancel stops agents and Graph, and the outcome tells the reason', async (t) => {
  const provider = heldProvider();
  const engine = testEngine(t, { provider });
  const run = startGraph(
    engine,
    graph("await parallel([() => agent('a'), () => agent('b')]); log('never')", ', limits: { max_concurrency: 1 }'),
  );
  await provider.until(1);
  run.running.cancel('the owner said so');
  t.match(await run.done, { status: 'cancelled', resultJson: null, error: 'the owner said so', totalTokens: 0 });
  t.equal(provider.held[0]?.signal.aborted, true);
  provider.held[0]?.answer('too late', 50);
  await new Promise(setImmediate);
  t.equal(provider.held.length, 1, 'the waiting agent never starts');
  t.same(
    run.events.map(({ type }) => type),
    ['fleet_started', 'wave_started', 'agent_started', 'agent_finished', 'wave_finished', 'finished'],
  );
});

t.test('a cancel ends a Graph that computes and would never look up', async (t) => {
  const engine = testEngine(t, { limits: { cpuSliceMs: 600_000 } });
  const run = startGraph(engine, graph("log('in'); for (;;);"), {
    onEvent: (event, running) => event.type === 'log' && running().cancel('stop'),
  });
  t.match(await run.done, { status: 'cancelled', error: 'stop' });
});

t.test('a cancel right after the start, twice, and after the end', async (t) => {
  const engine = testEngine(t);
  const early = startGraph(engine, graph('return 1'));
  early.running.cancel('changed my mind');
  early.running.cancel('again');
  t.match(await early.done, { status: 'cancelled', error: 'changed my mind' });
  t.same(
    early.events.map(({ type }) => type),
    ['fleet_started', 'finished'],
  );
  const late = startGraph(engine, graph('return 1'));
  await late.done;
  late.running.cancel('too late');
  t.match(await late.done, { status: 'completed', error: null });
  t.equal(late.events.filter(({ type }) => type === 'finished').length, 1);
});

t.test('a cancel from inside the first event leaves nothing running', async (t) => {
  const engine = testEngine(t, { keepWarm: false });
  const run = startGraph(engine, graph('for (;;);'), {
    onEvent: (event, running) => event.type === 'fleet_started' && running().cancel('no'),
  });
  t.match(await run.done, { status: 'cancelled', error: 'no' });
  t.equal(engine.livingSandboxes(), 0);
});

t.test('events come after start has returned', async (t) => {
  const engine = testEngine(t);
  const run = startGraph(engine, graph('return 1'));
  t.equal(run.events.length, 0);
  await run.done;
  t.equal(run.events[0]?.type, 'fleet_started');
});

t.test('a Graph with a broken file fails with both events and its place', async (t) => {
  const engine = testEngine(t);
  const outcome = await runGraph(engine, "export const meta = { name: 'x' };\nlet = 5 5;", { name: 'broken.js' });
  t.match(outcome, { status: 'failed', error: /^broken\.js:2:\d+: / });
  t.same(
    outcome.events.map(({ type }) => type),
    ['fleet_started', 'finished'],
  );
  t.match(await runGraph(engine, `export const meta = { name: 'x' };${' '.repeat(300_000)}`), {
    status: 'failed',
    error: /longer than 262144/,
  });
});

t.test('a listener that throws is logged and changes nothing', async (t) => {
  const logged: string[] = [];
  const log = { ...testPorts.log, error: (event: string) => logged.push(event) };
  const engine = testEngine(t, { ports: { ...testPorts, log } });
  const outcome = await runGraph(engine, graph("await agent('x'); return 7"), {
    onEvent: () => {
      throw new Error('listener');
    },
  });
  t.match(outcome, { status: 'completed', resultJson: '7' });
  t.equal(logged.length, 6);
});

t.test('each run has an id of its own', async (t) => {
  const engine = testEngine(t);
  const ids = new Set<string>();
  for (let index = 0; index < 3; index += 1) {
    const { events } = await runGraph(engine, graph('return 1'));
    if (events[0]?.type === 'fleet_started') ids.add(events[0].run_id);
  }
  t.equal(ids.size, 3);
});

t.test('runs at the same time do not see each other', async (t) => {
  const engine = testEngine(t, {
    provider: createScriptedProvider({ script: (prompt) => ({ text: prompt, tokens: 1 }) }),
  });
  const source = graph(
    'globalThis.mine = args.n; await agent(String(args.n)); return [globalThis.mine, await agent(String(args.n * 2)), budget.spent()]',
  );
  const runs = await Promise.all([1, 2, 3].map((n) => runGraph(engine, source, { args: { n } })));
  t.same(
    runs.map(({ resultJson }) => resultJson),
    ['[1,"2",2]', '[2,"4",2]', '[3,"6",2]'],
  );
});

function threads(): number | null {
  return process.platform === 'linux' ? readdirSync('/proc/self/task').length : null;
}

t.test('right after a run, the sandbox of the next one can be waited for', async (t) => {
  const clock = new VirtualClock();
  const engine = testEngine(t, { ports: { ...testPorts, clock } });
  await runGraph(engine, graph('return 1'));
  let isWarm = false;
  void engine.warmedUp().then(() => {
    isWarm = true;
  });
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  t.notOk(isWarm, 'it is not started before the result is delivered');
  await clock.advance(50);
  // A sandbox that waits does not keep the process alive: the turns do.
  while (!isWarm) await new Promise(setImmediate);
  t.ok(engine.livingSandboxes() >= 1);
});

/** A clock that knows which of its timers are armed. */
function countingClock(): { clock: Clock; armed: Set<object> } {
  const armed = new Set<object>();
  const after: Clock['after'] = (delayMs, run) => {
    const note = {};
    armed.add(note);
    const timer = realClock.after(delayMs, () => {
      armed.delete(note);
      run();
    });
    return {
      cancel: () => {
        armed.delete(note);
        timer.cancel();
      },
    };
  };
  return { clock: { ...realClock, after }, armed };
}

/** One of each way to live and to end. */
const WAYS: readonly [body: string, status: string][] = [
  ["return await agent('x')", 'completed'],
  ["throw new Error('x')", 'failed'],
  [
    "await agent('x'); for (const way of ['fail', 'y']) await retry(() => agent(way), { backoff_ms: 0 }).catch(() => 0); return 1",
    'completed',
  ],
  [
    "return await parallel([() => tool('web.x'), () => agent('x', { schema: { type: 'string' } }).catch(() => 0)])",
    'completed',
  ],
  ["return await graph('child')", 'completed'],
  ["agent('x'); tool('web.x'); graph('child'); return 1", 'completed'],
  ["await graph('child'); log('now'); await agent('never')", 'cancelled'],
];

t.test(
  'a hundred runs in a row leave one warm sandbox, and after close no worker, no thread and no timer',
  async (t) => {
    const provider: AgentProvider = {
      ask: async ({ prompt, signal }) => {
        if (prompt === 'fail') throw new Error('no');
        if (prompt !== 'never') return { text: prompt, tokens: 1 };
        return new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
        );
      },
    };
    const options = {
      provider,
      tools: { call: async () => 1 },
      graphs: shelfOf({ child: graph("return await agent('c')") }),
    };
    // The first worker of a process also starts threads that stay.
    const first = testEngine(t, options);
    await runGraph(first, graph('return 0'));
    await first.close();
    const before = threads();
    const resources = process.getActiveResourcesInfo().length;
    const { clock, armed } = countingClock();
    const engine = testEngine(t, { ...options, ports: { ...testPorts, clock } });
    for (let index = 0; index < 100; index += 1) {
      const [body, status] = WAYS[index % WAYS.length] ?? ['', ''];
      const outcome = await runGraph(engine, graph(body, ", tools: ['web.x']"), {
        onEvent: (event, running) => event.type === 'log' && running().cancel('enough'),
      });
      t.equal(outcome.status, status, body);
      t.ok(engine.livingSandboxes() <= 4, `${engine.livingSandboxes()} sandboxes`);
    }
    await engine.close();
    t.equal(engine.livingSandboxes(), 0);
    t.equal(armed.size, 0, 'no timer is armed');
    const after = threads();
    if (before !== null && after !== null) t.ok(after <= before + 1, `${before} threads before, ${after} after`);
    t.ok(process.getActiveResourcesInfo().length <= resources + 1, process.getActiveResourcesInfo().join());
  },
);

t.test('close cancels what runs, waits for providers, and refuses what comes later', async (t) => {
  const provider = heldProvider();
  const engine = testEngine(t, { provider });
  const run = startGraph(engine, graph("await agent('x')"));
  await provider.until(1);
  await engine.close();
  t.match(await run.done, { status: 'cancelled', error: 'the desktop is stopping' });
  t.equal(provider.held[0]?.signal.aborted, true);
  t.equal(engine.livingSandboxes(), 0);
  const late = await runGraph(engine, graph('return 1'));
  t.match(late, { status: 'cancelled', error: 'the desktop is stopping' });
  t.same(
    late.events.map(({ type }) => type),
    ['fleet_started', 'finished'],
  );
  t.equal(engine.livingSandboxes(), 0);
});

t.test('close does not wait for ever for a provider that ignores its signal', async (t) => {
  let asked: () => void = () => undefined;
  const started = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const deaf = {
    ask: () => {
      asked();
      return new Promise<never>(() => undefined);
    },
  };
  let graceOver = false;
  const after = (delayMs: number, run: () => void) => {
    if (delayMs !== 5_000) return realClock.after(delayMs, run);
    return realClock.after(20, () => {
      graceOver = true;
      run();
    });
  };
  const engine = testEngine(t, { provider: deaf, ports: { ...testPorts, clock: { ...realClock, after } } });
  const run = startGraph(engine, graph("await agent('x')"));
  await started;
  await engine.close();
  t.ok(graceOver, 'it did wait for the grace');
  t.match(await run.done, { status: 'cancelled' });
  t.equal(engine.livingSandboxes(), 0);
});
