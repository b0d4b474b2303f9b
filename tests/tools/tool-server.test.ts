/** When a server is started, given up and started anew: on a virtual clock, with connections that are a script. */
import t from 'tap';
import type { ConnectOptions, McpConnection } from '../../desktop-agent/tools/mcp-connection.ts';
import { openScripted as open } from './scripted-servers.ts';
import type { Line } from './support.ts';

const SECOND = 1_000;

function eventsOf(lines: readonly Line[]): string[] {
  return lines.map(({ event }) => event);
}

t.test('a server is started when it is needed, once for all who need it, and not before', async (t) => {
  const { made, begin, rest, admin, starts } = await open(t);
  await rest(() => true);
  t.equal(starts(), 0);
  const states = [begin(), begin(), begin()];
  await rest(() => made[0]?.calls.length === 3);
  t.equal(starts(), 1);
  for (const [index, answer] of made[0]!.answers.entries())
    answer.resolve({ content: [{ type: 'text', text: `${index}` }] });
  await rest(() => states.every(({ is }) => is !== 'waiting'));
  t.same(
    states.map(({ is }) => is),
    ['gave 0', 'gave 1', 'gave 2'],
  );
  t.match((await admin.list()).servers, [{ name: 'files', state: 'running', problem: null }]);
  t.equal(starts(), 1);
});

t.test('a call without an answer is given up after two minutes, and one that tells of progress is not', async (t) => {
  const { made, begin, clock, rest } = await open(t);
  const silent = begin();
  await rest(() => made[0]?.calls.length === 1);
  const busy = begin();
  await rest(() => made[0]?.calls.length === 2);
  const [first, second] = made[0]!.calls;
  await clock.advance(119 * SECOND);
  second!.onProgress();
  t.equal(silent.is, 'waiting');
  await clock.advance(SECOND);
  t.equal(silent.is, 'the tool server "files" gave no answer to read within 120 s');
  t.ok(first!.signal.aborted, 'and its server is told');
  t.equal(busy.is, 'waiting');
  for (let minutes = 2; minutes < 30; minutes++) {
    second!.onProgress();
    await clock.advance(60 * SECOND);
  }
  t.equal(
    busy.is,
    'the tool server "files" gave no answer to read within 1800 s',
    'half an hour is the end of it all the same',
  );
});

t.test('the owner can give a server more time for a call', async (t) => {
  const { made, begin, clock, rest } = await open(t, { servers: { files: { command: 'x', timeout: 2_400_000 } } });
  const state = begin();
  await rest(() => made[0]?.calls.length === 1);
  await clock.advance(2_399 * SECOND);
  t.equal(state.is, 'waiting');
  await clock.advance(SECOND);
  t.match(state.is, /within 2400 s$/);
});

t.test('a server that hangs is ended and started anew; one that is only slow at one call goes on', async (t) => {
  const { made, begin, clock, rest, starts, lines } = await open(t);
  const first = begin();
  await rest(() => made[0]?.calls.length === 1);
  await clock.advance(120 * SECOND);
  t.match(first.is, /gave no answer/);
  await clock.advance(10 * SECOND);
  t.same([made[0]!.looks, made[0]!.closed], [1, false], 'it lives');
  made[0]!.lives = false;
  const second = begin();
  await rest(() => made[0]!.calls.length === 2);
  await clock.advance(120 * SECOND);
  t.match(second.is, /gave no answer/);
  await clock.advance(5 * SECOND);
  t.ok(made[0]!.closed);
  t.match(lines.at(-1), {
    event: 'tool-server.failed',
    fields: { reason: 'the tool server "files" hangs, and is started anew' },
  });
  begin();
  await clock.advance(SECOND);
  await rest(() => made[1]?.calls.length === 1);
  t.equal(starts(), 2);
});

t.test('a crash fails the calls that go on, is said, and the next call gets a new server after a pause', async (t) => {
  const { made, begin, clock, rest, admin, lines, starts } = await open(t);
  const state = begin();
  await rest(() => made[0]?.calls.length === 1);
  made[0]!.crash();
  await rest(() => state.is !== 'waiting');
  t.equal(state.is, 'the tool server "files" ended with exit code 1 during the call');
  t.match(lines.at(-1), {
    level: 'warn',
    event: 'tool-server.failed',
    fields: { server: 'files', not_again_for_ms: 250 },
  });
  const next = begin();
  await rest(() => true);
  await clock.advance(249);
  t.equal(starts(), 1, 'not at once');
  await clock.advance(1);
  await rest(() => made[1]?.calls.length === 1);
  made[1]!.answers[0]!.resolve({ content: [{ type: 'text', text: 'again' }] });
  await rest(() => next.is !== 'waiting');
  t.equal(next.is, 'gave again');
  t.match((await admin.list()).servers, [{ state: 'running', problem: null }]);
});

t.test('the pauses grow while it fails, and are short again after a call that worked', async (t) => {
  let fails = true;
  const starting = async () => {
    if (fails) throw new Error('no such program');
  };
  const { made, begin, clock, rest, lines, starts } = await open(t, { starts: starting });
  for (let n = 1; n <= 8; n++) {
    const state = begin();
    await rest(() => true);
    await clock.advance(20 * SECOND);
    await rest(() => state.is !== 'waiting');
    t.equal(state.is, 'the tool server "files" did not start: no such program');
    t.equal(starts(), n);
  }
  const pauses = () =>
    lines.filter(({ event }) => event === 'tool-server.failed').map(({ fields }) => fields.not_again_for_ms);
  t.same(pauses(), [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  fails = false;
  const state = begin();
  await clock.advance(20 * SECOND);
  await rest(() => made[0]?.calls.length === 1);
  made[0]!.answers[0]!.resolve({ content: [] });
  await rest(() => state.is !== 'waiting');
  made[0]!.crash();
  t.equal(pauses().at(-1), 250);
});

t.test('a start that takes a minute has failed', async (t) => {
  const asked: ConnectOptions[] = [];
  const connect = (given: ConnectOptions) => {
    asked.push(given);
    const { promise, reject } = Promise.withResolvers<McpConnection>();
    given.signal.addEventListener('abort', () => reject(new Error('aborted')));
    return promise;
  };
  const { begin, clock, rest } = await open(t, { connect });
  const state = begin();
  await rest(() => asked.length === 1);
  await clock.advance(59 * SECOND);
  t.equal(state.is, 'waiting');
  await clock.advance(SECOND);
  await rest(() => state.is !== 'waiting');
  t.equal(state.is, 'the tool server "files" did not start within 60 s');
});

t.test('a run that ends while its server starts leaves the start to others', async (t) => {
  const gate = Promise.withResolvers<void>();
  const { made, begin, rest, starts } = await open(t, { starts: () => gate.promise });
  const run = new AbortController();
  const [ended, goesOn] = [begin('files.read', run.signal), begin()];
  await rest(() => starts() === 1);
  run.abort(new Error('the run was cancelled'));
  await rest(() => ended.is !== 'waiting');
  t.equal(ended.is, 'the run was cancelled');
  gate.resolve();
  await rest(() => made[0]?.calls.length === 1);
  t.equal(goesOn.is, 'waiting');
});

t.test('the end of a run ends its call, and the server is told', async (t) => {
  const { made, begin, rest } = await open(t);
  const run = new AbortController();
  const state = begin('files.read', run.signal);
  await rest(() => made[0]?.calls.length === 1);
  run.abort(new Error('the run was cancelled'));
  await rest(() => state.is !== 'waiting');
  t.equal(state.is, 'the run was cancelled');
  t.ok(made[0]!.calls[0]!.signal.aborted);
  t.notOk(made[0]!.closed);
});

t.test('what a server did not do because it lost its session is asked of it again, once', async (t) => {
  const { made, begin, rest, lines } = await open(t);
  const state = begin();
  await rest(() => made[0]?.calls.length === 1);
  const lost = Object.assign(new Error('gone'), { name: 'SessionLost' });
  made[0]!.answers[0]!.reject(lost);
  await rest(() => made[1]?.calls.length === 1);
  made[1]!.answers[0]!.reject(lost);
  await rest(() => state.is !== 'waiting');
  t.equal(state.is, 'gone');
  t.equal(made.length, 2);
  t.notMatch(eventsOf(lines), ['tool-server.failed'], 'that is no failure of the server');
});

t.test('a start that fails when nobody waits for it any more harms nobody', async (t) => {
  const gate = Promise.withResolvers<void>();
  const { begin, rest, starts, lines } = await open(t, { starts: () => gate.promise });
  const gone = new AbortController();
  begin('files.read', gone.signal);
  await rest(() => starts() === 1);
  gone.abort(new Error('the run was cancelled'));
  const late = begin('files.read', AbortSignal.abort(new Error('it had ended before')));
  await rest(() => late.is !== 'waiting');
  gate.reject(new Error('no such program'));
  await rest(() => lines.some(({ event }) => event === 'tool-server.failed'));
  t.equal(late.is, 'it had ended before');
});
