/** What is written down of a run, and what of it is never a reason for the run to wait or to fail. */
import t from 'tap';
import { hashOf } from '../../desktop-agent/runs/bounded-event.ts';
import { resultOf } from '../../desktop-agent/runs/record-reader.ts';
import { RESTARTED_DURING_RUN } from '../../protocol/texts.ts';
import { refusal } from '../state/faulty-disk.ts';
import { watch } from '../state/support.ts';
import { agentEvents, FOLDER, historyWorld, log, offlineDesk, SESSION, SOURCE } from './support.ts';

t.test('a record has who asked, the Graph as it ran, each event in order with its instant, and the end', async (t) => {
  const world = await historyWorld();
  const run = world.start({ args: { topic: 'bees' } });
  const began = world.clock.now();
  run.emit({ type: 'fleet_started', run_id: 'r' });
  await world.clock.advance(1_500);
  run.emit(...agentEvents(1, 'ask', 'answer'), log('done'));
  run.end({ resultJson: '{"ok":true}', totalTokens: 7, reportedCost: 0.5 });
  await world.written();
  const { head, graph, events, result, end, unreadable } = await world.recordOf(run);
  t.match(head, {
    command_id: run.commandId,
    execution_id: run.run.executionId,
    channel: `graph:external:${run.commandId}`,
    project_id: 'home',
    graph_session_id: SESSION,
    slug: 'test',
    version: 3,
    graph_name: 'Test',
    file_name: 'test.js',
    queued_at_ms: 1,
    started_at_ms: began,
  });
  t.match(graph, { source: SOURCE, args: { topic: 'bees' } });
  t.same(
    events.map(({ n, at_ms, after_ms, event }) => [n, at_ms - began, after_ms, event.type]),
    [
      [1, 0, 0, 'fleet_started'],
      [2, 1_500, 1_500, 'agent_started'],
      [3, 1_500, 1_500, 'agent_finished'],
      [4, 1_500, 1_500, 'log'],
    ],
  );
  t.same(
    events.map(({ event }) => event),
    run.heard,
    'and whoever asked heard the same',
  );
  t.match(result, { chars: 11, json: '{"ok":true}' });
  t.match(end, { status: 'completed', duration_ms: 1_500, total_tokens: 7, reported_cost: 0.5, error: null });
  t.match(end, { cut_texts: 0, dropped_events: 0, lost_lines: 0, result_kept: true });
  t.equal(unreadable, 0);
});

t.test('a run never waits for its record: it goes on and ends while the disk hangs, and when it refuses', async (t) => {
  for (const fault of [() => new Promise(() => {}), () => Promise.reject(refusal('ENOSPC'))]) {
    const world = await historyWorld();
    world.faults.before = fault;
    const run = world.start();
    for (let n = 0; n < 100; n += 1) {
      run.emit(log(`line ${n}`));
      await world.clock.advance(100);
    }
    t.equal(run.heard.length, 100);
    run.end({ resultJson: '"here"' });
    t.match(await run.running.done, { status: 'completed', resultJson: '"here"' });
    const closed = watch(world.history.close(2_000));
    await world.clock.advance(2_000);
    t.equal(closed.settled, 'resolved', 'and the desktop stops');
  }
});

t.test('a full disk is one line in the log, and what waited is written when there is room again', async (t) => {
  const world = await historyWorld();
  const run = world.start();
  run.emit(log('before'));
  await world.written();
  world.faults.before = (operation) => {
    if (operation === 'write' || operation === 'open') throw refusal('ENOSPC');
  };
  for (let n = 0; n < 50; n += 1) {
    run.emit(log(`while it was full ${n}`));
    await world.clock.advance(1_000);
  }
  run.end();
  await world.clock.advance(20_000);
  const said = world.log.lines.filter(({ event }) => event === 'history.not-written');
  t.match(said, [{ level: 'warn', fields: { command_id: run.commandId, reason: /ENOSPC/ } }]);
  t.equal(said.length, 1);
  t.match(await world.desk.list(5), [{ command_id: run.commandId, status: 'completed' }], 'known meanwhile');

  world.faults.before = () => undefined;
  await world.clock.advance(5_000);
  const { events, end, unreadable } = await world.recordOf(run);
  t.equal(events.length, 51);
  t.match(end, { status: 'completed', lost_lines: 0 });
  t.equal(unreadable, 0);
  t.match(await offlineDesk(world.disk).list(5), [{ command_id: run.commandId, status: 'completed' }]);
});

t.test('a write that arrived in part is written again at its place, and no line is torn', async (t) => {
  const world = await historyWorld();
  const run = world.start();
  let writes = 0;
  world.faults.shortWrite = (bytes) => Math.ceil(bytes / 2);
  world.faults.before = (operation) => {
    if (operation === 'write' && ++writes === 2) throw refusal('ENOSPC');
  };
  run.emit(log('one'), log('two'));
  await world.clock.advance(10_000);
  run.emit(log('three'));
  run.end();
  await world.written();
  const { events, end, unreadable } = await world.recordOf(run);
  t.same(
    events.map(({ event }) => event),
    ['one', 'two', 'three'].map(log),
  );
  t.equal(end?.status, 'completed');
  t.equal(unreadable, 0);
});

t.test(
  'what waits for a disk is bounded: later lines are lost, counted, and told in the end of the record',
  async (t) => {
    const world = await historyWorld({ waitingBytes: 2_000 });
    const run = world.start();
    await world.written();
    world.faults.before = (operation) => {
      if (operation === 'open') throw refusal('ENOSPC');
    };
    for (let n = 0; n < 40; n += 1) run.emit(log('x'.repeat(50)));
    run.end();
    await world.written();
    world.faults.before = () => undefined;
    await world.clock.advance(10_000);
    const { events, end, result } = await world.recordOf(run);
    t.ok(events.length > 5 && events.length < 20, `${events.length} lines`);
    t.equal(end?.lost_lines, 40 + 1 - events.length - (result === null ? 0 : 1));
    t.equal(end?.result_kept, result !== null);
    t.match(await world.desk.list(1), [{ incomplete: true }]);
  },
);

t.test('after a kill the record is readable, a torn line is dropped, and the run counts as interrupted', async (t) => {
  const world = await historyWorld();
  const run = world.start();
  run.emit(...agentEvents(1, 'ask', 'answer'));
  await world.clock.advance(250);
  run.emit(log('the last word'));
  await world.written();
  const name = (await world.files.names())[0] ?? '';
  const torn = await world.disk.open(`${FOLDER}/${name}.jsonl`, 'extend');
  const size = (await world.disk.size(`${FOLDER}/${name}.jsonl`)) ?? 0;
  await torn.write(Buffer.from('{"kind":"event","n":4,"event":{"type":"lo'), size);
  const shown = {
    command_id: run.commandId,
    status: 'failed',
    error: RESTARTED_DURING_RUN,
    ended_at: null,
    duration_ms: 250,
    total_tokens: 7,
    reported_cost: 0.5,
    incomplete: true,
  };
  const after = await world.killed();
  t.match(await after.desk.list(5), [shown], 'on the desktop that started again');
  t.match(await offlineDesk(after.disk).list(5), [shown], 'and without one');
  const { events, unreadable } = await after.recordOf(run);
  t.equal(events.length, 3);
  t.equal(unreadable, 0);

  after.history.settled(
    { commandId: run.commandId, executionId: run.run.executionId },
    { status: 'cancelled', error: 'The run was cancelled.', resultJson: null, totalTokens: 0, reportedCost: null },
  );
  await after.written();
  const settled = { ...shown, status: 'cancelled', error: 'The run was cancelled.' };
  t.match(await after.desk.list(5), [settled], 'as the relay says that it ended');
  const record = await after.recordOf(run);
  t.equal(record.unreadable, 0, 'the end stands in place of the torn line');
  t.equal(record.events.length, 3);
});

t.test('a kill at any byte of a record leaves a record that is read up to there', async (t) => {
  const world = await historyWorld();
  const run = await world.play([...agentEvents(1, 'ask', 'answer'), log('ß 😀')]);
  const path = `${FOLDER}/${(await world.files.names())[0]}.jsonl`;
  const whole = (await world.disk.read(path)) as Buffer;
  const headBytes = whole.indexOf('\n') + 1;
  for (let length = whole.length - 1; length >= headBytes; length -= 1) {
    await (await world.disk.open(path, 'extend')).truncate(length);
    const { unreadable, end, events } = await world.recordOf(run);
    const [summary] = await offlineDesk(world.disk.kill()).list(1);
    const isRight = unreadable === 0 && end === null && events.length <= 3 && summary?.status === 'failed';
    if (!isRight) t.fail(`cut at ${length} bytes`);
  }
  t.pass(`${whole.length - headBytes} cuts`);
});

t.test('a long text is cut with a mark, never inside a pair, and the record says so', async (t) => {
  const world = await historyWorld({ textChars: 100 });
  const prompt = `${'a'.repeat(62)}${'😀'.repeat(50)}`;
  const run = await world.play([
    ...agentEvents(1, prompt, 'short'),
    { type: 'tool_started', call: 1, tool: 'files.read', input: { path: 'b'.repeat(200) } },
  ]);
  const { events, end } = await world.recordOf(run);
  const [asked, , tool] = events;
  t.match(asked, { cut: { prompt: { chars: prompt.length, sha256: hashOf(prompt) } } });
  const kept = (asked!.event as { prompt: string }).prompt;
  t.ok(kept.length <= 100 && kept.isWellFormed() && kept.startsWith('aaa'));
  t.match(kept, /… \[cut: 162 characters in all\]$/);
  t.match(tool, { cut: { input: { sha256: hashOf({ path: 'b'.repeat(200) }) } } });
  t.equal(end?.cut_texts, 2);
  t.match(await world.desk.list(1), [{ incomplete: true }]);
});

t.test('a full record keeps a few words of each event, and then their number', async (t) => {
  const world = await historyWorld({ recordBytes: 4_000, briefChars: 60, reserveBytes: 2_000 });
  const run = await world.play(Array.from({ length: 40 }, (_, n) => log(`${n} ${'x'.repeat(1_000)}`)));
  const { events, end } = await world.recordOf(run);
  const whole = events.filter(({ cut }) => cut === undefined);
  t.equal(whole.length, 3);
  t.ok(events.length > 5 && events.length < 20, `${events.length} events`);
  t.equal((end?.dropped_events ?? 0) + events.length, 40);
  t.equal(end?.cut_texts, events.length - whole.length);
  const bytes = await world.files.bytesOf((await world.files.names())[0] ?? '');
  t.ok(bytes < 4_000 + 2_000 + 2_000, `${bytes} bytes with head and end`);
});

t.test('a result that is longer than the envelope is kept whole in a file of its own', async (t) => {
  const world = await historyWorld();
  const text = JSON.stringify('ß😀"'.repeat(100_000));
  const run = await world.play([], { resultJson: text });
  const record = await world.recordOf(run);
  t.match(record.result, { chars: text.length, json: null });
  t.equal(await resultOf(world.files, record), text);
  t.match(await world.desk.list(1), [{ result_chars: text.length, incomplete: false }]);

  world.faults.before = (operation, path) => {
    if (operation === 'write' && path.endsWith('.json')) throw refusal('ENOSPC');
  };
  const second = await world.play([], { resultJson: text });
  const lost = await world.recordOf(second);
  t.match(lost, { result: null, end: { status: 'completed', result_kept: false, result_chars: text.length } });
  t.equal(await world.disk.read(`${FOLDER}/${lost.name}.result.json`), null, 'no half of it is left');
});

t.test('an event that cannot be written down is a line in the log and nothing else', async (t) => {
  const world = await historyWorld();
  const run = world.start();
  const knot: { self?: unknown } = {};
  knot.self = knot;
  run.emit({ type: 'tool_started', call: 1, tool: 'a.b', input: knot }, log('after it'));
  run.end();
  await world.written();
  t.equal(run.heard.length, 2);
  t.match(world.log.lines, [{ event: 'history.failed', fields: { command_id: run.commandId } }]);
  const { events, end } = await world.recordOf(run);
  t.match(events, [{ n: 2, event: log('after it') }]);
  t.match(end, { status: 'completed', dropped_events: 1 });
});
