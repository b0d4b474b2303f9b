/** A recorded run, run once more: what is answered from the record, what is new, and that nobody is asked. */
import t from 'tap';
import type { AgentProvider } from '../../desktop-agent/engine/agent-provider.ts';
import { createScriptedProvider } from '../../desktop-agent/engine/providers/scripted.ts';
import { type ToolHost, ToolRefused } from '../../desktop-agent/engine/tool-host.ts';
import type { GraphEvent } from '../../desktop-agent/run-events.ts';
import { graph, shelfOf } from '../engine/support.ts';
import { comparable, FAN_OUT, names, recorded, replayed } from './recorded.ts';

t.test('a call that is not in the record is refused, and what the record has beside it is told', async (t) => {
  const run = await recorded(t, FAN_OUT);
  const source = FAN_OUT.replace("'about ' + topic", "(topic === 'glass' ? 'news of ' : 'about ') + topic");
  const replay = await replayed(run, { source });
  t.match(replay.outcome, {
    status: 'failed',
    error: /agent "glass" is not in the record of this run: a replay asks nobody, unless it is started with --ask/,
  });
  t.same(names(replay.reused), ['bees', 'tides']);
  t.match(replay.refused, [{ kind: 'agent', name: 'glass' }]);
  t.match(replay.unused, [{ kind: 'agent', name: 'glass' }]);
  t.equal(replay.sameEnd, false);
});

t.test('with somebody to ask, only what is new is asked', async (t) => {
  const run = await recorded(t, FAN_OUT);
  const seen: string[] = [];
  const provider: AgentProvider = {
    ask: async ({ prompt }) => {
      seen.push(prompt);
      return { text: 'news', tokens: 5, costUsd: 0.25 };
    },
  };
  const source = FAN_OUT.replace("'about ' + topic", "(topic === 'glass' ? 'news of ' : 'about ') + topic");
  const replay = await replayed(run, { source, ask: { provider, tools: null } });
  t.same(seen, ['news of glass']);
  t.equal(replay.outcome.status, 'completed');
  t.match(replay.asked, [{ kind: 'agent', name: 'glass', tokens: 5, cost: 0.25 }]);
  t.equal(replay.reused.length, 2);
  t.match(replay.differences, [{ path: ['result', 'notes', 1], value: 'news' }, { path: ['result', 'spent'] }]);
});

t.test(
  'a call is the same by prompt, label, model and schema, and equal ones are answered in their order',
  async (t) => {
    let n = 0;
    const provider: AgentProvider = {
      ask: async ({ schema }) => ({ text: `${schema ? `"${++n}"` : ++n}`, tokens: 1 }),
    };
    const source = graph(`
    const schema = { type: 'string' };
    return [await agent('a'), await agent('a'), await agent('a', { label: 'x' }), await agent('a', { model: 'm' }),
      await agent('a', { schema }), await agent('b')];
  `);
    const run = await recorded(t, source, { provider });
    t.equal(run.recordedResult, '["1","2","3","4","5","6"]');
    t.match(await replayed(run), { sameEvents: true, sameEnd: true, outcome: { resultJson: run.recordedResult } });
    // The first agent is another one now, so the numbers of those without a label are too.
    const turned = source
      .replace("await agent('a'), await agent('a'), ", '')
      .replace("await agent('b')", "await agent('b'), await agent('a'), await agent('a')");
    t.equal((await replayed(run, { source: turned })).outcome.resultJson, '["3","4","5","6","1","2"]');
    for (const other of ["{ label: 'y' }", "{ model: 'n' }", "{ schema: { type: 'string', maxLength: 9 } }"]) {
      const edited = source.replace("{ label: 'x' }", other);
      const replay = await replayed(run, { source: edited });
      t.equal(replay.refused.length, 1, other);
    }
  },
);

t.test('tools give what they gave, with the decisions of then, and are never called', async (t) => {
  let called = 0;
  const tools: ToolHost = {
    async call({ tool, input, call, onEvent }) {
      called += 1;
      const asked = { approval: `ap${call}`, call, tool };
      onEvent({ type: 'approval_asked', ...asked, input });
      if (tool === 'files.delete') {
        onEvent({ type: 'approval_decided', ...asked, decision: 'deny', scope: 'run' });
        throw new ToolRefused('the owner said no');
      }
      onEvent({ type: 'approval_decided', ...asked, decision: 'allow', scope: 'call' });
      if (tool === 'files.stat') throw new Error('no such file');
      return { text: 'hello', input };
    },
  };
  const source = graph(
    `
    const caught = (promise) => promise.then((value) => value, (e) => e.name + ': ' + e.message);
    return [await tool('files.read', { b: 1, a: 2 }), await caught(tool('files.stat', 'x')),
      await caught(tool('files.delete', 'x'))];
  `,
    ", tools: ['files.*']",
  );
  const run = await recorded(t, source, { tools });
  t.equal(called, 3);
  const events: GraphEvent[] = [];
  const replay = await replayed(run, { onEvent: (event) => events.push(event) });
  t.match(replay, { sameEvents: true, sameEnd: true, unused: [] });
  t.same(comparable(events), comparable(run.events));
  t.same(names(replay.reused), ['files.read', 'files.stat', 'files.delete']);
  const reordered = await replayed(run, { source: source.replace('{ b: 1, a: 2 }', '{ a: 2, b: 1 }') });
  t.equal(reordered.sameEnd, true, 'the same input in another spelling');

  const edited = source.replace("'files.read', { b: 1, a: 2 }", "'files.read', { b: 2 }");
  const refused = await replayed(run, { source: edited });
  t.match(refused.outcome.error, /ToolRefused: the call of files\.read is not in the record of this run/);
  const asking = await replayed(run, { source: edited, ask: { provider: createScriptedProvider(), tools } });
  t.match(asking.asked, [{ kind: 'tool', name: 'files.read' }]);
  t.equal(called, 4, 'only the new one is called for real');
});

t.test('Graphs that were called run as they were then', async (t) => {
  const inner = (word: string) => graph(`return (await agent('${word} ' + args.n)).length;`);
  const outer = graph("return [await graph('inner', { n: 1 }), await graph('no-such', {}).catch((e) => e.message)];");
  const run = await recorded(t, outer, { graphs: shelfOf({ inner: inner('old') }) });
  const edited = shelfOf({ inner: inner('new'), 'no-such': inner('x'), other: inner('old') });
  const replay = await replayed(run, { graphs: edited });
  t.match(replay, { sameEvents: true, sameEnd: true, refused: [], graphsFromNow: [] });
  const other = await replayed(run, { graphs: edited, source: outer.replace("'inner'", "'other'") });
  t.match(other, { graphsFromNow: ['other'], refused: [], sameEnd: true });
});

t.test('what the record has not whole is refused and named; a prompt that was cut is still known', async (t) => {
  const long = 'y'.repeat(500);
  const provider: AgentProvider = {
    ask: async ({ label }) => ({ text: label === 'long' ? long : 'short', tokens: 1 }),
  };
  const source = graph(
    `return [await agent('x'.repeat(900), { label: 'short' }), (await agent('l', { label: 'long' })).length];`,
  );
  const run = await recorded(t, source, { provider, history: { textChars: 300 } });
  t.equal(run.record.end?.cut_texts, 2);
  const replay = await replayed(run);
  t.same(names(replay.reused), ['short'], 'by the hash of its prompt');
  t.match(replay.outcome.error, /agent "long" is in the record, but what came of it is not kept whole/);
  const asking = await replayed(run, { ask: { provider, tools: null } });
  t.match(asking, { sameEnd: true, asked: [{ name: 'long' }] });
});
