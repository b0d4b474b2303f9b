/**
 * Each kind of fault between a real desktop and a real relay: a command that is queued early and one that is queued
 * when the transport has settled run once each. All kinds wait side by side, since waiting is most of what they do.
 */
import t from 'tap';
import { type Faults, startFaultProxy } from './fault-proxy.ts';
import { startRelay } from './rig.ts';
import { describeSettling, type Settling, settle } from './settling.ts';

const SECOND = 1_000;

interface Kind {
  readonly name: string;
  readonly faults: Faults;
  /** A second proxy between the first one and the relay has these. */
  readonly innerFaults?: Faults;
  readonly settles: Omit<Settling, 'quietMs'>;
}

const KINDS: readonly Kind[] = [
  {
    name: 'a slow path',
    faults: { delayMs: 150 },
    settles: { transport: 'long-poll', holdMs: [20_000, 20_000], withinMs: 0 },
  },
  {
    name: 'answers that are buffered until they are complete',
    faults: { bufferAnswers: true },
    settles: { transport: 'long-poll', holdMs: [20_000, 20_000], withinMs: 0 },
  },
  {
    name: 'idle connections that are closed at random',
    faults: { idleCloseMaxMs: 2_000, cutBy: 'end' },
    settles: { transport: 'long-poll', holdMs: [20_000, 20_000], withinMs: 0 },
  },
  {
    name: 'a chain of proxies whose inner one answers an HTML 504 at 15 s (C01)',
    faults: {},
    innerFaults: { answerMs: 15 * SECOND, cutBy: 'html-504' },
    settles: { transport: 'long-poll', holdMs: [11_500, 12_500], withinMs: 35 * SECOND },
  },
  {
    name: 'holds that are cut after 5 s',
    faults: { answerMs: 5 * SECOND },
    settles: { transport: 'websocket', withinMs: 15 * SECOND },
  },
  {
    name: 'answers reset at 2 s, and no upgrades (C05)',
    faults: { answerMs: 2 * SECOND, stripUpgrade: true },
    settles: { transport: 'plain', withinMs: 10 * SECOND },
  },
  {
    name: 'holds that are cut after 3 s, with a connection each time (C25)',
    faults: { answerMs: 3 * SECOND, cutBy: 'end' },
    settles: { transport: 'websocket', withinMs: 12 * SECOND },
  },
  {
    name: 'an upgrade after which all frames are swallowed (C07)',
    faults: { answerMs: 3 * SECOND, swallowFrames: true },
    settles: { transport: 'plain', withinMs: 20 * SECOND },
  },
  {
    name: 'connections that are dropped without a word after 15 s of silence (C28)',
    faults: { idleMs: 15 * SECOND, cutBy: 'silence' },
    settles: { transport: 'long-poll', holdMs: [10_000, 10_000], withinMs: 40 * SECOND },
  },
  {
    name: 'holds that nobody ever answers (C13)',
    faults: { answerMs: 4 * SECOND, cutBy: 'silence' },
    settles: { transport: 'websocket', withinMs: 60 * SECOND },
  },
];

async function play(kind: Kind) {
  const relay = await startRelay(t);
  const inner = kind.innerFaults && (await startFaultProxy({ target: relay.port, faults: kind.innerFaults }));
  const proxy = await startFaultProxy({ target: inner?.port ?? relay.port, faults: kind.faults });
  const settled = await settle(t, { relay, url: proxy.url, expected: { ...kind.settles, quietMs: 7 * SECOND } });
  t.teardown(() => Promise.all([proxy.close(), inner?.close()]));
  return { ...settled, made: proxy.made };
}

const outcomes = await Promise.all(KINDS.map(play));

for (const [index, kind] of KINDS.entries()) {
  t.test(`a command runs once, and the transport settles: ${kind.name}`, async (t) => {
    const settled = outcomes[index]!;
    for (const line of describeSettling(settled)) t.comment(line);
    t.match(settled.runs, Array(2).fill({ status: 'completed', result: { greeting: 'hello' } }));
    t.same([...settled.desktop.runs.values()], [1, 1]);
    t.ok(settled.asExpected, `${kind.settles.transport} within ${kind.settles.withinMs} ms`);
    t.ok(settled.snapshot.connected);
  });
}

t.test('the chain of proxies is seen as cut holds, and its page is never read as an answer (C01)', async (t) => {
  const { desktop, snapshot } = outcomes[KINDS.findIndex(({ name }) => name.includes('C01'))]!;
  t.equal(snapshot.transport.holds_cut, 2);
  t.match(snapshot.transport.reason, /after 1[45]\.\d s \(Something between here and .* answered with status 504/);
  t.notOk(desktop.lines.some(({ event }) => event === 'relay.disconnected'));
});

t.test('short cuts do not make a desktop connect again and again (C25)', async (t) => {
  const { made } = outcomes[KINDS.findIndex(({ name }) => name.includes('C25'))]!;
  t.ok(made < 15, `${made} connections`);
});
