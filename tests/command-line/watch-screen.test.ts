/** The picture of `desktop watch`: how events change it, what keys do to it, and how it looks in terminals of any size. */
import stringWidth from 'string-width';
import t from 'tap';
import { VirtualClock } from '../../bench/sim/virtual-clock.ts';
import { cutTo } from '../../desktop-agent/watch/fit.ts';
import { watchScreen } from '../../desktop-agent/watch/watch-screen.ts';
import {
  chosenOf,
  type Key,
  keyOf,
  NOTHING_YET,
  pressed,
  runNamed,
  type WatchState,
  withEvents,
  withSummaries,
} from '../../desktop-agent/watch/watch-state.ts';
import { Watching } from '../../desktop-agent/watch/watching.ts';
import { happened, NOW, question, runId, ScriptedDesktop, snapshot, summary } from './watch-support.ts';

const AGENT = { wave: 1, model: null, prompt: '' };
const DONE = { duration_ms: 1, answer: 'x', error: null };

/** A desktop with two runs, of which one waits for its owner, and two that have ended. */
function busy(): WatchState {
  const ended = { ended_at: new Date(NOW - 60_000).toISOString() };
  const summaries = [
    summary('3f', { graph: 'weekly-report' }),
    summary('4a', { graph: 'translate-報告書', version: 1, started_at: new Date(NOW - 4_000).toISOString() }),
    summary('9d', { graph: 'hello', status: 'completed', total_tokens: 34, ...ended }),
    summary('8c', { graph: 'news', status: 'failed', error: 'no key: set ANTHROPIC_API_KEY', ...ended }),
  ];
  const events = [
    happened('3f', { type: 'fleet_started', run_id: 'r' }, 63),
    happened('3f', { type: 'phase', title: 'Research' }),
    happened('3f', { type: 'agent_started', agent: 1, label: 'tides', ...AGENT, model: 'claude' }),
    happened('3f', { type: 'agent_started', agent: 2, label: 'volcanoes', ...AGENT }),
    happened('3f', { type: 'agent_finished', agent: 1, ok: true, tokens: 1_234, cost: 0.0123, ...DONE }, 2),
    happened('3f', { type: 'log', message: 'one of two is here' }),
    happened('3f', { type: 'tool_started', call: 1, tool: 'files.write', input: {} }),
    happened('3f', { type: 'approval_asked', approval: 'a1b2c3', call: 1, tool: 'files.write', input: {} }),
  ];
  const state = withEvents(withSummaries({ ...NOTHING_YET, desktop: snapshot({ running: 2 }) }, summaries), events);
  return { ...state, approvals: [question('a1b2c3', '3f')] };
}

function drawn(state: WatchState, columns: number, rows = 24): string[] {
  return watchScreen(state, { columns, rows, now: NOW, mute: false, paint: (_paint, text) => text });
}

t.test(
  '80 columns show the connection, questions, runs with their agents and tokens, and what has ended',
  async (t) => {
    t.same(drawn(busy(), 80), [
      'Graph Relay                                               ● connected, long-poll',
      'held 12.3 s of 20.0 s, 2 of 2 slots',
      '',
      'Waits for you',
      '▸ files.write  for weekly-report, since 12.0 s  a1b2c3',
      '    {"path":"a.md"}',
      '',
      'Runs',
      '  weekly-report v3 3f000000  waits     1/2 agents, 1,234 tok, $0.0123, 1 min 3 s',
      '    ── Research',
      '    ▸ volcanoes  5.0 s',
      '    ▸ files.write  5.0 s',
      '    ✓ tides (claude)  3.0 s',
      '    one of two is here',
      '  translate-報告書 v1 4a000000                                             4.0 s',
      '',
      'Ended',
      ...drawn(busy(), 80).slice(17, 19),
      '',
      '',
      '',
      '',
      'a allow  A for this run  d deny  c cancel  ↑↓ choose  q quit  ',
    ]);
    const [failed, completed] = drawn(busy(), 80).slice(17, 19).sort();
    t.match(failed, /^ {2}✓ hello 9d000000 +34 tok, 3\.0 s, \d\d:\d\d:\d\d$/);
    t.equal(completed, '  ✗ news 8c000000  no key: set ANTHROPIC_API_KEY');
  },
);

t.test('a narrow terminal shows the same one below the other', async (t) => {
  const lines = drawn(busy(), 40);
  t.equal(lines[0], '● connected, long-poll');
  t.ok(lines.includes('  weekly-report v3 3f000000  waits'));
  t.ok(lines.includes('    1/2 agents, 1,234 tok, $0.0123, 1 m…'));
  t.match(lines.at(-1), /^q quit {2}a allow/);
});

t.test('no line is wider than the terminal and none is too many, whatever its size and what is in it', async (t) => {
  const wide = { ...busy(), said: '報告'.repeat(60), approvals: [question('x', '3f', { tool: 'a.'.repeat(80) })] };
  for (const state of [busy(), NOTHING_YET, wide]) {
    for (let columns = 1; columns < 130; columns += 3) {
      for (const rows of [1, 2, 5, 8, 14, 24, 60]) {
        const lines = drawn(state, columns, rows);
        t.ok(lines.length <= rows && lines.every((line) => stringWidth(line) <= columns), `${columns}×${rows}`);
      }
    }
  }
});

t.test('where there is little room, questions and runs come before what they are doing and what is over', async (t) => {
  const lines = drawn(busy(), 80, 13);
  t.ok(lines.includes('▸ files.write  for weekly-report, since 12.0 s  a1b2c3'));
  t.ok(lines.some((line) => line.includes('translate-報告書')));
  t.match(lines.at(-2), /^… \d+ more lines$/);
  t.match(lines.at(-1), /quit/);
});

t.test('nothing that others wrote steers the terminal', async (t) => {
  const evil = '\u001b[2J\u009b31m\r\n\u202e';
  const state = withEvents(busy(), [
    happened('3f', { type: 'phase', title: `a${evil}b` }),
    happened('3f', { type: 'agent_started', agent: 9, label: `c${evil}d`, ...AGENT }),
  ]);
  const approvals = [question('x', '3f', { tool: `e${evil}f`, input: { [evil]: evil } })];
  const text = drawn({ ...state, approvals, said: evil }, 80).join('');
  for (const steering of ['\u001b', '\u009b', '\r', '\n', '\u202e']) t.notMatch(text, steering);
  t.equal(cutTo('報告書', 5), '報告…');
  t.equal(cutTo('👩‍👩‍👧‍👧 family', 4), '👩‍👩‍👧‍👧 …');
});

t.test('a desktop that does not run, is not connected or is paused is told as such', async (t) => {
  t.match(drawn(NOTHING_YET, 80)[0], /○ not running$/);
  t.match(drawn(NOTHING_YET, 80)[1], /`graph-relay desktop` starts one/);
  const lost = { ...NOTHING_YET, desktop: snapshot({ connected: false, trouble: 'no network' }) };
  t.same([/not connected$/.test(drawn(lost, 80)[0]!), drawn(lost, 80)[1]], [true, 'no network']);
  t.match(drawn({ ...busy(), desktop: snapshot({ paused_since: 'x' }) }, 80)[0], /paused {2}● connected/);
  t.match(drawn({ ...busy(), desktop: snapshot({ held: null }) }, 80)[1], /^between two requests/);
});

t.test('events tell how a run goes on and ends; one that is told of again is not told twice', async (t) => {
  let state = withEvents(NOTHING_YET, [
    happened('1', { type: 'fleet_started', run_id: 'r' }),
    happened('1', { type: 'wave_started', wave: 2 }),
    happened('1', { type: 'agent_refused', label: 'x', reason: 'the budget is spent' }),
    happened('1', { type: 'graph_started', graph: 1, slug: 'inner', version: 1, args: {} }),
  ]);
  t.match(runNamed(state, runId('1')), {
    status: 'running',
    wave: 2,
    log: 'the budget is spent',
    activities: [{ label: 'Graph inner', ended: null }],
  });
  state = withEvents(state, [
    happened('1', { type: 'finished', status: 'failed', tokens: 7, cost: null, error: 'why' }, 1),
  ]);
  t.match(state, { live: [], ended: [{ status: 'failed', tokens: 7, error: 'why', endedAt: NOW - 1_000 }] });
  state = withSummaries(state, [summary('1', { status: 'failed', graph: 'named' })]);
  t.match(state, { live: [], ended: [{ graph: 'named', tokens: 7 }] });
  t.equal(state.ended.length, 1);

  for (let n = 0; n < 50; n++) {
    const run = n.toString(16).padStart(2, '0');
    state = withEvents(state, [
      happened(run, { type: 'fleet_started', run_id: 'r' }),
      happened(run, { type: 'finished', status: 'completed', tokens: 0, cost: null, error: null }, 100 - n),
    ]);
  }
  t.equal(state.ended.length, 10, 'it does not grow');
});

t.test('keys choose, decide once or for a run, and cancel only when pressed twice', async (t) => {
  const press = (state: WatchState, ...keys: Key[]) =>
    keys.reduce((at, key) => pressed(at.state, key), { state, intent: null } as ReturnType<typeof pressed>);
  const two = { ...busy(), approvals: [question('a1', '3f'), question('a2', '4a')] };
  t.equal(chosenOf(two), 'a1', 'the first there is');
  t.match(press(two, 'allow').intent, { do: 'decide', approval: 'a1', decision: 'allow', scope: 'call' });
  t.match(press(two, 'down', 'allow-run').intent, { approval: 'a2', decision: 'allow', scope: 'run' });
  t.match(press(two, 'down', 'down', 'deny').intent, { approval: 'a1', decision: 'deny' }, 'a run has no question');
  t.match(
    press(two, 'up', 'up', 'down', 'down', 'down', 'down', 'down').state,
    { chosen: runId('4a') },
    'not past the end',
  );

  const once = press(two, 'down', 'cancel');
  t.equal(once.intent, null);
  t.match(
    drawn(once.state, 80).join('\n'),
    /translate-報告書 v1 4a000000 {2}c again cancels it/,
    'the run of the question',
  );
  t.match(press(once.state, 'cancel').intent, { do: 'cancel', commandId: runId('4a') });
  t.equal(press(once.state, 'up', 'down', 'cancel').intent, null, 'any other key in between takes it back');
  t.match(press({ ...NOTHING_YET }, 'allow').state.said, /Nothing waits/);
  t.match(press({ ...NOTHING_YET }, 'cancel').state.said, /Nothing runs/);
  t.equal(press(two, 'other').intent, null);
  t.same(
    [
      { name: 'up', sequence: '\u001b[A' },
      { name: 'a', sequence: 'a' },
      { name: 'a', sequence: 'A' },
      { sequence: '\u0003' },
    ].map(keyOf),
    ['up', 'allow', 'allow-run', 'quit'],
  );
  t.equal(keyOf({ name: 'constructor', sequence: 'constructor' }), 'other');
});

t.test('a desktop is followed through its end and its next start', async (t) => {
  const clock = new VirtualClock();
  const desktop = new ScriptedDesktop();
  const watching = new Watching({ desktop, clock, onChange: () => {}, onQuit: () => {} });
  const over = new AbortController();
  const running = watching.run(over.signal);
  await clock.advance(3_000);
  t.equal(watching.state.desktop, null);

  desktop.feed = 'first';
  desktop.summaries = [summary('1', { graph: 'known' })];
  await clock.advance(1_000);
  t.match(watching.state, { desktop: { connected: true }, live: [{ graph: 'known' }] });
  desktop.summaries = [summary('2', { graph: 'new' })];
  desktop.tell(happened('2', { type: 'fleet_started', run_id: 'r' }));
  await clock.advance(0);
  t.same(watching.state.live.map(({ graph }) => graph).sort(), ['known', 'new'], 'the name of a new one is asked for');

  desktop.stop();
  await clock.advance(1_500);
  t.match(watching.state, { desktop: null, live: [], ended: [] });
  desktop.feed = 'second';
  desktop.summaries = [summary('3', { graph: 'later' })];
  desktop.tell(happened('3', { type: 'fleet_started', run_id: 'r' }), happened('3', { type: 'phase', title: 'On' }));
  await clock.advance(2_000);
  t.match(watching.state, { desktop: { connected: true }, live: [{ graph: 'later', phase: 'On' }] });
  t.equal(watching.state.live.length, 1);
  over.abort();
  desktop.wake();
  await clock.advance(1_000);
  await running;
});

t.test('a question is shown when it is asked, decided by a key, and gone; a refusal is told', async (t) => {
  const clock = new VirtualClock();
  const desktop = new ScriptedDesktop();
  desktop.feed = 'first';
  const quits: string[] = [];
  const watching = new Watching({ desktop, clock, onChange: () => {}, onQuit: () => quits.push('now') });
  void watching.run(new AbortController().signal);
  await clock.advance(0);
  desktop.open = [question('a1', '1'), question('a2', '1', { tool: 'mail.send' })];
  desktop.tell(happened('1', { type: 'approval_asked', approval: 'a1', call: 1, tool: 'files.write', input: {} }));
  await clock.advance(0);
  t.equal(watching.state.approvals.length, 2);
  watching.press('allow');
  await clock.advance(0);
  t.match(desktop.did, [{ do: 'decide', approval: 'a1', decision: 'allow', scope: 'call' }]);
  t.match(watching.state, { said: 'files.write: allowed.', approvals: [{ approval: 'a2' }] });
  desktop.refusal = new Error('it is decided already');
  watching.press('deny');
  await clock.advance(0);
  t.match(watching.state.said, /it is decided already/);
  watching.press('cancel');
  watching.press('cancel');
  await clock.advance(0);
  t.match(desktop.did.at(-1), { do: 'cancel', commandId: runId('1') });
  watching.press('quit');
  t.same(quits, ['now']);
});
