/** A replay is deterministic: an unchanged Graph sees what it saw, in the order in which it saw it. */
import t from 'tap';
import type { AgentProvider } from '../../desktop-agent/engine/agent-provider.ts';
import { createScriptedProvider } from '../../desktop-agent/engine/providers/scripted.ts';
import type { ToolHost } from '../../desktop-agent/engine/tool-host.ts';
import type { RunningGraph } from '../../desktop-agent/ports.ts';
import type { GraphEvent } from '../../desktop-agent/run-events.ts';
import type { RunRecord } from '../../desktop-agent/runs/record-reader.ts';
import { graph } from '../engine/support.ts';
import { seededRandom } from '../state/support.ts';
import { backwards, comparable, FAN_OUT, names, recorded, replayed } from './recorded.ts';

t.test('the unchanged Graph gives the same result and the same events in the same order, each time', async (t) => {
  const run = await recorded(t, FAN_OUT, { provider: backwards(3) });
  t.same(JSON.parse(run.recordedResult ?? '').order, ['tides', 'glass', 'bees'], 'it matters who was first');
  for (let time = 0; time < 5; time += 1) {
    const events: GraphEvent[] = [];
    const replay = await replayed(run, { onEvent: (event) => events.push(event) });
    t.match(replay, { sameEvents: true, sameEnd: true, differences: [], asked: [], refused: [], unused: [] });
    t.equal(replay.outcome.resultJson, run.recordedResult);
    t.same(comparable(events), comparable(run.events));
    t.equal(replay.outcome.totalTokens, run.record.end?.total_tokens, 'with the recorded tokens');
    t.same(names(replay.reused), ['tides', 'glass', 'bees']);
  }
});

t.test('an edited Graph gets the recorded answers for what it asks as before, in their order', async (t) => {
  const run = await recorded(t, FAN_OUT, { provider: backwards(3) });
  const source = FAN_OUT.replace("phase('Summary');", "log('edited');").replace(
    'return { notes,',
    'return { count: notes.length, notes,',
  );
  const replay = await replayed(run, { source: source.replace("phase('Research');", '') });
  t.match(replay, { sameEvents: false, sameEnd: false, asked: [], refused: [], unused: [] });
  t.same(replay.differences, [{ type: 'CREATE', path: ['result', 'count'], value: 3 }]);
  t.same(JSON.parse(replay.outcome.resultJson ?? '').order, ['tides', 'glass', 'bees']);
});

t.test('failures come again with what they cost, and waits of retry take no time', async (t) => {
  let asked = 0;
  const provider: AgentProvider = {
    ask: async ({ label }) => {
      asked += 1;
      if (asked < 3) throw new Error(`${label} is busy`);
      return { text: 'at last', tokens: 9 };
    },
  };
  const source = graph(`
    return await retry(() => agent('try', { label: 'worker' }), { attempts: 3, backoff_ms: 30 });
  `);
  const run = await recorded(t, source, { provider });
  t.equal(run.recordedResult, '"at last"');
  t.equal(run.events.filter(({ type }) => type === 'retry_waits').length, 2);
  // The same record with a wait of hours: a replay that waited would not end here.
  const patient = JSON.parse(JSON.stringify(run.record).replaceAll('"wait_ms":30', '"wait_ms":60000')) as RunRecord;
  const slow = { ...run, record: patient };
  const replay = await replayed(slow, { source: source.replace('30', '60_000') });
  t.match(replay, { sameEnd: true, refused: [], unused: [], outcome: { resultJson: '"at last"', totalTokens: 9 } });
});

t.test('a run that was cancelled, or whose record breaks off, is replayed up to there', async (t) => {
  const provider: AgentProvider = {
    ask: ({ label, signal }) =>
      label === 'first'
        ? Promise.resolve({ text: 'one', tokens: 1 })
        : new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  };
  const source = graph("return [await agent('x', { label: 'first' }), await agent('y', { label: 'second' })];");
  const stop = (event: GraphEvent, running: RunningGraph) => {
    if (event.type === 'agent_started' && event.label === 'second') running.cancel('enough');
  };
  const run = await recorded(t, source, { provider, onEvent: stop });
  t.match(run.record.end, { status: 'cancelled' });
  const replay = await replayed(run);
  t.match(replay.outcome.error, /agent "second" is in the record, but the run ended before it was answered/);
  t.same(names(replay.reused), ['first']);
  const asking = await replayed(run, { ask: { provider: createScriptedProvider(), tools: null } });
  t.match(asking, { outcome: { status: 'completed' }, asked: [{ name: 'second' }] });

  const broken = { ...run, record: { ...run.record, end: null, events: run.record.events.slice(0, 3) } };
  t.match((await replayed(broken)).outcome.error, /agent "first" is in the record, but the run ended/);
});

t.test('an agent that was still asked when the Graph returned is not answered in its replay either', async (t) => {
  const provider: AgentProvider = {
    ask: ({ label, signal }) =>
      label === 'quick'
        ? Promise.resolve({ text: 'done', tokens: 1 })
        : new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  };
  const source = graph(
    "void agent('slow', { label: 'slow' }).catch(() => {}); return await agent('q', { label: 'quick' });",
  );
  const run = await recorded(t, source, { provider });
  t.match(await replayed(run), { sameEvents: true, sameEnd: true, refused: [] });
});

t.test('a budget refuses in a replay what it refused in the run', async (t) => {
  const source = graph(
    `return await parallel([1, 2, 3, 4].map((n) => () => agent('n' + n, { label: 'n' + n }).catch((e) => e.name)));`,
    ', limits: { total_tokens: 15, max_concurrency: 2 }',
  );
  let n = 0;
  const provider: AgentProvider = { ask: async () => ({ text: String(++n), tokens: 10 }) };
  const run = await recorded(t, source, { provider });
  t.match(run.recordedResult, /BudgetExceeded/);
  const replay = await replayed(run);
  t.match(replay, { sameEvents: true, sameEnd: true, outcome: { resultJson: run.recordedResult } });
  const generous = await replayed(run, { source: source.replace('15', '100') });
  t.match(generous.refused, [{ name: 'n3' }, { name: 'n4' }], 'what was never asked has no answer');
});

t.test('whatever order the answers came in, a replay of the unchanged Graph has the same events', async (t) => {
  const source = graph(
    `
    const ask = async (name, depth) => {
      const [kind, count] = args.plan[name] ?? ['agent', 1];
      log('begin ' + name);
      if (depth < 3 && count > 1) {
        await parallel(Array.from({ length: count }, (_, n) => () => ask(name + '.' + n, depth + 1)));
      }
      const given = kind === 'tool' ? await tool('files.read', name) : await agent('ask ' + name).catch((e) => e.name);
      log('end ' + name + ' ' + JSON.stringify(given) + ' ' + budget.spent());
    };
    await parallel([0, 1, 2].map((n) => () => ask(String(n), 1)));
    return budget.spent();
    `,
    ", tools: ['files.*'], limits: { total_tokens: 60, max_concurrency: 3 }",
  );
  for (let seed = 1; seed <= 6; seed += 1) {
    const chance = seededRandom(seed);
    const later = async <T>(value: () => T): Promise<T> => {
      for (let turns = Math.floor(chance() * 12); turns > 0; turns -= 1)
        await new Promise((next) => setImmediate(next));
      return value();
    };
    const plan = Object.fromEntries(
      ['0', '1', '2', '0.0', '0.1', '1.0', '1.1', '2.0', '2.1'].map((name) => [
        name,
        [chance() < 0.5 ? 'tool' : 'agent', 1 + Math.floor(chance() * 3)],
      ]),
    );
    const provider: AgentProvider = { ask: ({ prompt }) => later(() => ({ text: prompt, tokens: 5 })) };
    const tools: ToolHost = {
      async call({ input, tool, call, onEvent }) {
        const asked = { approval: `ap${call}`, call, tool };
        await later(() => onEvent({ type: 'approval_asked', ...asked, input }));
        await later(() => onEvent({ type: 'approval_decided', ...asked, decision: 'allow', scope: 'call' }));
        return later(() => input);
      },
    };
    const limits = { toolsAtOnce: 1 };
    const run = await recorded(t, source, { provider, tools, limits, args: { plan } });
    const events: GraphEvent[] = [];
    const replay = await replayed(run, { limits, args: { plan }, onEvent: (event) => events.push(event) });
    if (!replay.sameEvents || !replay.sameEnd) t.same(comparable(events), comparable(run.events), `seed ${seed}`);
    t.ok(replay.sameEvents && replay.sameEnd && events.length > 15, `seed ${seed}: ${events.length} events`);

    const edited = source.replace("log('begin ' + name);", '');
    const told: string[] = [];
    for (let time = 0; time < 2; time += 1) {
      const heard: GraphEvent[] = [];
      await replayed(run, { source: edited, limits, args: { plan }, onEvent: (event) => heard.push(event) });
      told.push(JSON.stringify(comparable(heard)));
    }
    t.ok(told[0] === told[1] && told[0] !== undefined, `seed ${seed}: an edited Graph is replayed the same each time`);
  }
});
