/** The state machine of a command against a table of its own: written from the contract, not from the product's code. */
import t from 'tap';
import {
  type CommandEvent,
  type CommandLife,
  type CommandStatus,
  hasEnded,
  isWaiting,
  newLife,
  transition,
} from '../../protocol/command-machine.ts';
import type { CompleteInput } from '../../protocol/schemas.ts';
import { COMMAND, EXECUTION, lifeIn, OTHER_EXECUTION, STATUSES } from './lives.ts';

const NOW = 9_000;

function completion(changes: Partial<CompleteInput> = {}): CompleteInput {
  return { command_id: COMMAND, execution_id: EXECUTION, status: 'completed', result: 1, ...changes } as CompleteInput;
}

const EVENTS: Readonly<Record<string, CommandEvent>> = {
  offer: { type: 'offer', epoch: 3 },
  return: { type: 'return' },
  start: { type: 'start', executionId: EXECUTION },
  'complete well': { type: 'complete', completion: completion() },
  'complete failed': { type: 'complete', completion: completion({ status: 'failed', result: undefined, error: 'no' }) },
  'complete cancelled': { type: 'complete', completion: completion({ status: 'cancelled', result: undefined }) },
  'complete of another execution': { type: 'complete', completion: completion({ execution_id: OTHER_EXECUTION }) },
  cancel: { type: 'cancel' },
  withdraw: { type: 'withdraw', text: 'not shared' },
  expire: { type: 'expire', text: 'too late' },
  interrupt: { type: 'interrupt', text: 'restarted' },
  lose: { type: 'lose', text: 'silent' },
};

/** Where each event leads from each status; a pair that is missing changes nothing at all. */
const MOVES: Readonly<Record<CommandStatus, Readonly<Record<string, CommandStatus>>>> = {
  queued: {
    offer: 'offered',
    start: 'running',
    'complete well': 'completed',
    'complete failed': 'failed',
    'complete cancelled': 'cancelled',
    'complete of another execution': 'completed',
    cancel: 'cancelled',
    withdraw: 'cancelled',
    expire: 'expired',
    // Its desktop may have had it: it is not run again.
    interrupt: 'failed',
  },
  offered: {
    offer: 'offered',
    return: 'queued',
    start: 'running',
    'complete well': 'completed',
    'complete failed': 'failed',
    'complete cancelled': 'cancelled',
    'complete of another execution': 'completed',
    cancel: 'cancelled',
    withdraw: 'cancelled',
    expire: 'expired',
    interrupt: 'failed',
  },
  running: {
    'complete well': 'completed',
    'complete failed': 'failed',
    'complete cancelled': 'cancelled',
    // Stays running: only a stop is asked for.
    cancel: 'running',
    withdraw: 'running',
    interrupt: 'failed',
    lose: 'lost',
  },
  completed: {},
  failed: {},
  cancelled: {},
  expired: {},
  lost: { 'complete well': 'completed', 'complete failed': 'failed', 'complete cancelled': 'cancelled' },
};

for (const status of STATUSES) {
  t.test(
    `each event does to a command that is ${status} what the contract says, and no other event does anything`,
    async (t) => {
      for (const [name, event] of Object.entries(EVENTS)) {
        const life = lifeIn(status);
        const copy = structuredClone(life);
        const next = transition(life, event, NOW);
        const expected = MOVES[status][name];
        t.equal(next.changed, expected !== undefined, `${name} changes something`);
        t.equal(next.life.status, expected ?? status, `${name} leads to`);
        t.same(life, copy, `${name} leaves the life that was passed in as it was`);
        if (expected === undefined) {
          t.equal(next.life, life, `${name} gives the same object back`);
          t.same(next.effects, [], `${name} has no effect`);
        } else if (hasEnded(next.life.status)) {
          t.equal(next.life.finishedAt, NOW, `${name} sets the instant of the end`);
          t.ok(next.effects.includes('wake-control'), `${name} wakes a held control`);
        } else {
          t.equal(next.life.finishedAt, null, `${name} sets no end`);
        }
      }
    },
  );
}

t.test('an offer counts, and carries its instant and the epoch of the instance that got it', async (t) => {
  const first = transition(newLife(1_000), { type: 'offer', epoch: 3 }, 2_000).life;
  t.match(first, { status: 'offered', offeredAt: 2_000, offers: 1, epoch: 3, startedAt: null });
  const back = transition(first, { type: 'return' }, 3_000).life;
  t.match(back, { status: 'queued', offeredAt: 2_000, offers: 1 });
  const second = transition(back, { type: 'offer', epoch: 4 }, 4_000).life;
  t.match(second, { offeredAt: 4_000, offers: 2, epoch: 4, queuedAt: 1_000 });
});

t.test('a start names the one execution that may complete the command (C65)', async (t) => {
  const running = transition(lifeIn('offered'), { type: 'start', executionId: EXECUTION }, NOW).life;
  t.match(running, { status: 'running', startedAt: NOW, executionId: EXECUTION });
  const again = transition(running, { type: 'start', executionId: OTHER_EXECUTION }, NOW + 1);
  t.equal(again.changed, false, 'a second start is no start');
});

t.test('a result is kept only of a completed run, and only when it came whole', async (t) => {
  const running = lifeIn('running');
  const whole = transition(running, EVENTS['complete well']!, NOW);
  t.equal(whole.life.result, 'stored');
  t.same(whole.effects, ['wake-control', 'store-result']);
  const truncated = completion({ result: undefined, result_truncated: true });
  const cut = transition(running, { type: 'complete', completion: truncated }, NOW);
  t.equal(cut.life.result, 'truncated');
  t.same(cut.effects, ['wake-control']);
  const failed = completion({ status: 'failed', result: 'half', error: 'broke' });
  const broken = transition(running, { type: 'complete', completion: failed }, NOW);
  t.equal(broken.life.result, 'none');
  t.equal(broken.life.error, 'broke');
});

t.test('figures of a completion are kept, and missing ones stay unknown', async (t) => {
  const input = completion({ total_tokens: 12, reported_cost: 0.5 });
  const known = transition(lifeIn('running'), { type: 'complete', completion: input }, NOW).life;
  t.match(known, { totalTokens: 12, reportedCost: 0.5, error: null });
  const unknown = transition(lifeIn('running'), EVENTS['complete well']!, NOW).life;
  t.match(unknown, { totalTokens: null, reportedCost: null });
});

t.test('a cancel that was asked for wins over every end that comes after it (C44)', async (t) => {
  const asked = transition(lifeIn('running'), { type: 'cancel' }, 5_000).life;
  t.match(asked, { status: 'running', cancelRequestedAt: 5_000, stopReason: 'cancelled' });
  for (const name of ['complete well', 'complete failed', 'complete cancelled', 'interrupt', 'lose']) {
    const { life, effects } = transition(asked, EVENTS[name]!, NOW);
    t.equal(life.status, 'cancelled', name);
    t.equal(life.cancelRequestedAt, 5_000, `${name} keeps when the cancel came`);
    t.equal(life.result, 'none', `${name} keeps no result`);
    t.notOk(effects.includes('store-result'), name);
  }
});

t.test('the first stop stays: a later one changes neither reason nor instant (C47)', async (t) => {
  const withdrawn = transition(lifeIn('running'), { type: 'withdraw', text: 'not shared' }, 5_000).life;
  t.match(withdrawn, { status: 'running', stopReason: 'not-shared', error: 'not shared', cancelRequestedAt: 5_000 });
  t.equal(transition(withdrawn, { type: 'cancel' }, 6_000).changed, false);
  const ended = transition(withdrawn, EVENTS['complete well']!, NOW).life;
  t.match(ended, { status: 'cancelled', stopReason: 'not-shared', error: 'not shared' });
});

t.test('each end that no desktop reported says why', async (t) => {
  const ends: [CommandStatus, string, Partial<CommandLife>][] = [
    ['queued', 'cancel', { status: 'cancelled', stopReason: 'cancelled', cancelRequestedAt: NOW, error: null }],
    ['offered', 'withdraw', { status: 'cancelled', stopReason: 'not-shared', error: 'not shared' }],
    ['queued', 'expire', { status: 'expired', stopReason: 'expired', error: 'too late', cancelRequestedAt: null }],
    ['running', 'interrupt', { status: 'failed', stopReason: 'ended', error: 'restarted' }],
    ['running', 'lose', { status: 'lost', stopReason: 'ended', error: 'silent' }],
  ];
  for (const [from, event, expected] of ends) {
    t.match(transition(lifeIn(from), EVENTS[event]!, NOW).life, expected, `${event} while ${from}`);
  }
});

t.test('a late completion repairs a lost run, and nothing of the loss remains but the instants', async (t) => {
  const lost = transition(lifeIn('running'), EVENTS.lose!, 5_000).life;
  const repaired = transition(lost, EVENTS['complete well']!, NOW).life;
  t.match(repaired, { status: 'completed', error: null, finishedAt: NOW, result: 'stored' });
  const failed = transition(lost, EVENTS['complete failed']!, NOW).life;
  t.equal(failed.error, 'no', 'the error is the one of the run, not the one of the silence');
  t.equal(transition(lost, EVENTS['complete of another execution']!, NOW).changed, false);
});

t.test('waiting and ended are told from the status alone', async (t) => {
  t.same(STATUSES.filter(isWaiting), ['queued', 'offered']);
  t.same(STATUSES.filter(hasEnded), ['completed', 'failed', 'cancelled', 'expired', 'lost']);
});

t.test('a wall clock that went back never puts a step before the one before it (C19)', async (t) => {
  const offered = transition(newLife(10_000), { type: 'offer', epoch: 1 }, 4_000).life;
  const running = transition(offered, { type: 'start', executionId: EXECUTION }, 3_000).life;
  const ended = transition(running, EVENTS['complete well']!, 2_000).life;
  t.ok(ended.queuedAt <= ended.offeredAt!, 'offered');
  t.ok(ended.offeredAt! <= ended.startedAt!, 'started');
  t.ok(ended.startedAt! <= ended.finishedAt!, 'finished');
});
