/** While the owner is asked and nothing else of a run goes on, its wall time stands still. */
import t, { type Test } from 'tap';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import type { GraphEngine } from '../../desktop-agent/engine/engine.ts';
import type { ToolHost, ToolRequest } from '../../desktop-agent/engine/tool-host.ts';
import type { Clock } from '../../protocol/ports.ts';
import { graph, heldProvider, shelfOf, startGraph, type TestRun, testEngine, testPorts, told } from './support.ts';

const META = ", tools: ['mail.*'], limits: { wall_ms: 10000 }";
const HOURS = 10 * 3_600_000;

/** Asks the owner for each call of a tool whose name begins with `mail.ask`; calls are answered by the test. */
function askingHost(): ToolHost & { readonly open: Asked[]; until(count: number): Promise<void> } {
  const open: Asked[] = [];
  let arrived: () => void = () => undefined;
  return {
    open,
    until: async (count) => {
      while (open.length < count) {
        await new Promise<void>((resolve) => {
          arrived = resolve;
        });
      }
    },
    call: (request) =>
      new Promise((resolve, reject) => {
        const { call, tool, input } = request;
        const about = { approval: `approval ${call}`, call, tool };
        if (tool.startsWith('mail.ask')) request.onEvent({ type: 'approval_asked', ...about, input });
        request.signal.addEventListener('abort', () => reject(request.signal.reason));
        const decide = () => request.onEvent({ type: 'approval_decided', ...about, decision: 'allow', scope: 'call' });
        open.push({ request, decide, answer: resolve });
        arrived();
      }),
  };
}

interface Asked {
  readonly request: ToolRequest;
  decide(): void;
  answer(value: unknown): void;
}

interface World {
  readonly clock: VirtualClock;
  readonly host: ReturnType<typeof askingHost>;
  readonly held: ReturnType<typeof heldProvider>;
  readonly engine: GraphEngine;
  /** Resolves when no timer is armed, that of the wall time included. */
  stillness(): Promise<void>;
}

function world(t: Test, sources: Record<string, string> = {}): World {
  const clock = new VirtualClock();
  const armed = new Set<object>();
  const after: Clock['after'] = (delayMs, run) => {
    const note = {};
    armed.add(note);
    const timer = clock.after(delayMs, () => {
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
  const host = askingHost();
  const held = heldProvider();
  const ports = { ...testPorts, clock: { now: () => clock.now(), monotonic: () => clock.monotonic(), after } };
  const stillness = async (): Promise<void> => {
    while (armed.size > 0) await new Promise(setImmediate);
  };
  const graphs = shelfOf(sources);
  const engine = testEngine(t, { ports, tools: host, provider: held, graphs, keepWarm: false });
  return { clock, host, held, engine, stillness };
}

const TOO_LONG = { status: 'failed', error: 'the run took longer than its 10000 ms' };

async function endedBy(run: TestRun, clock: VirtualClock, ms: number): Promise<boolean> {
  let ended = false;
  void run.done.then(() => {
    ended = true;
  });
  await clock.advance(ms);
  return ended;
}

t.test('the owner may decide hours later; from then on the time goes on where it stood', async (t) => {
  const { clock, host, held, engine, stillness } = world(t);
  const run = startGraph(
    engine,
    graph("const a = await tool('mail.ask', { to: 'Ada' }); return [a, await agent('x')]", META),
  );
  await host.until(1);
  await stillness();
  t.notOk(await endedBy(run, clock, HOURS));
  host.open[0]?.decide();
  t.notOk(await endedBy(run, clock, 6_000), 'the call itself takes its time');
  host.open[0]?.answer('sent');
  await held.until(1);
  t.notOk(await endedBy(run, clock, 3_000));
  t.ok(await endedBy(run, clock, 1_500), '6,000 and 4,500 ms are more than 10,000');
  t.match(await run.done, TOO_LONG);
  t.same(told(run.events, 'call', 'ok').slice(0, 5), [
    'fleet_started',
    'tool_started call=1',
    'approval_asked call=1',
    'approval_decided call=1',
    'tool_finished call=1 ok=true',
  ]);
});

t.test(
  'the time goes on while anything else of the run does: an agent, a tool, a wait, a computing Graph',
  async (t) => {
    const sources = { loops: graph("log('in'); for (;;);") };
    const others: [name: string, call: string][] = [
      ['an agent', "agent('x')"],
      ['a tool', "tool('mail.read')"],
      ['a wait', "retry(() => { throw new Error('x') }, { backoff_ms: 60000 })"],
      ['a computing Graph', "graph('loops')"],
    ];
    for (const [name, call] of others) {
      const { clock, host, engine } = world(t, sources);
      const run = startGraph(engine, graph(`await parallel([() => tool('mail.ask'), () => ${call}])`, META));
      await host.until(1);
      while (!run.events.some(({ type }) => ['agent_started', 'retry_waits', 'log'].includes(type))) {
        if (call.startsWith('tool')) break;
        await new Promise(setImmediate);
      }
      if (call.startsWith('tool')) await host.until(2);
      t.ok(await endedBy(run, clock, 11_000), name);
      t.match(await run.done, TOO_LONG, name);
    }
  },
);

t.test('the time of a called Graph stands still too, and a cancel takes the question back', async (t) => {
  const { clock, host, engine, stillness } = world(t, { asks: graph("return await tool('mail.ask')", META) });
  const run = startGraph(engine, graph("return await graph('asks')", META));
  await host.until(1);
  await stillness();
  t.notOk(await endedBy(run, clock, HOURS));
  t.match(
    run.events.find(({ type }) => type === 'approval_asked'),
    { within: 1, approval: 'approval 1' },
  );
  run.running.cancel('enough');
  t.match(await run.done, { status: 'cancelled' });
  t.equal(host.open[0]?.request.signal.aborted, true);
});
