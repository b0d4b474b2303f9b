/** What a desktop says of a run that waits for its owner, and when. */
import t from 'tap';
import type { GraphRun } from '../../desktop-agent/ports.ts';
import { RelayError } from '../../protocol/errors.ts';
import { command, type DesktopOptions, startDesktop } from './support.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

/** A desktop whose Graph goes on for an hour. */
async function started(options: DesktopOptions = {}) {
  const runs: GraphRun[] = [];
  const desktop = await startDesktop({ runMs: HOUR, onRun: (run) => void runs.push(run), ...options });
  const offered = command();
  desktop.relay.offer(offered);
  // A plain desktop asks for work each 20 s.
  await desktop.clock.advance(21 * SECOND);
  const { onEvent: event } = runs[0]!;
  const asks = (approval: string, tool: string, call = 1) =>
    event({ type: 'approval_asked', approval, call, tool, input: null });
  const decided = (approval: string, tool: string) =>
    event({ type: 'approval_decided', approval, call: 1, tool, decision: 'allow', scope: 'call' });
  /** What the controls of this run have said so far, and when. */
  const said = () =>
    desktop.relay.controls
      .filter((control) => control.command_id === offered.command_id && control.phase === 'running')
      .map(({ at, awaiting_approval: asked = null }) => [at, asked] as const);
  const last = () => said().at(-1);
  return { ...desktop, offered, event, asks, decided, said, last };
}

for (const mode of ['long-poll', 'websocket', 'plain'] as const) {
  t.test(`a question is told at once, and its answer too, also in the middle of a ${mode} control`, async (t) => {
    const { clock, asks, decided, last } = await started({ mode });
    await clock.advance(7_300);
    t.equal(last()?.[1], null);
    asks('a', 'files.write');
    const askedAt = clock.monotonic();
    await clock.advance(0);
    t.same(last(), [askedAt, { tool: 'files.write', waiting_ms: 0 }]);
    await clock.advance(61_100);
    t.match(last()?.[1], { tool: 'files.write' });
    t.equal(last()?.[1]?.waiting_ms, last()![0] - askedAt, 'and how long it has waited, each time');
    decided('a', 'files.write');
    const decidedAt = clock.monotonic();
    await clock.advance(0);
    t.same(last(), [decidedAt, null]);
  });
}

t.test('the first question that is open is the one that is told; those behind it change nothing', async (t) => {
  const { clock, asks, decided, said, last } = await started();
  asks('a', 'files.write');
  await clock.advance(5);
  const before = said().length;
  asks('b', 'web.fetch');
  decided('c', 'never.asked');
  await clock.advance(5);
  t.equal(said().length, before, 'nothing new to say');
  await clock.advance(2 * SECOND);
  decided('a', 'files.write');
  await clock.advance(0);
  t.same(last()?.[1], { tool: 'web.fetch', waiting_ms: 2_005 });
});

t.test('many questions and answers in one turn cost one control', async (t) => {
  const { clock, asks, decided, said, last } = await started();
  await clock.advance(SECOND);
  const before = said().length;
  for (let n = 0; n < 100; n++) asks(`${n}`, 'files.write');
  for (let n = 0; n < 99; n++) decided(`${n}`, 'files.write');
  await clock.advance(0);
  t.equal(said().length, before + 1);
  t.match(last()?.[1], { tool: 'files.write' });
});

t.test('a stop still comes in while the owner is asked, also one that was on its way meanwhile', async (t) => {
  const { clock, relay, ran, asks, offered } = await started();
  await clock.advance(SECOND);
  // In the same turn: the control that would bring the stop is given up for the one with the question.
  asks('a', 'files.write');
  relay.stop(offered.command_id);
  await clock.advance(SECOND);
  t.equal(ran[0]?.status, 'cancelled');
});

t.test('a question that could not be told is told when the relay is back', async (t) => {
  const { clock, relay, asks, last, said } = await started();
  relay.onControl = async () => {
    throw new RelayError('unreachable', 'no network');
  };
  asks('a', 'files.write');
  const askedAt = clock.monotonic();
  await clock.advance(30 * SECOND);
  const tries = said().filter(([, asked]) => asked !== null).length;
  t.ok(tries < 8, `${tries} tries in 30 s`);
  relay.onControl = async () => undefined;
  await clock.advance(30 * SECOND);
  t.equal(last()?.[1]?.waiting_ms, last()![0] - askedAt);
});

t.test('a question that was taken back with its call is not told any more', async (t) => {
  const { clock, asks, event, last } = await started();
  asks('a', 'files.write');
  asks('b', 'web.fetch', 2);
  await clock.advance(0);
  t.match(last()?.[1], { tool: 'files.write' });
  event({
    type: 'tool_finished',
    call: 1,
    tool: 'files.write',
    ok: false,
    duration_ms: 1,
    output: null,
    error: 'ended',
  });
  await clock.advance(0);
  t.match(last()?.[1], { tool: 'web.fetch' });
  event({ type: 'tool_refused', call: 2, tool: 'web.fetch', reason: 'the owner said no' });
  await clock.advance(0);
  t.equal(last()?.[1], null);
});
