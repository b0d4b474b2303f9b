/** Properties of the state machine that hold for every sequence of events, however wild: many seeded random ones. */
import t from 'tap';
import { seededRandom } from '../../bench/sim/seeded.ts';
import { type CommandEvent, type CommandLife, hasEnded, newLife, transition } from '../../protocol/command-machine.ts';
import { COMMAND, EXECUTION, OTHER_EXECUTION } from './lives.ts';

const SEQUENCES = 2_000;
const LENGTH = 30;

interface Step {
  readonly before: CommandLife;
  readonly event: CommandEvent;
  readonly after: CommandLife;
  readonly changed: boolean;
}

function randomEvent(pick: <T>(...choices: T[]) => T): CommandEvent {
  const execution = pick(EXECUTION, EXECUTION, OTHER_EXECUTION);
  const status = pick('completed', 'failed', 'cancelled');
  return pick<() => CommandEvent>(
    () => ({ type: 'offer', epoch: pick(1, 2, 3) }),
    () => ({ type: 'return' }),
    () => ({ type: 'start', executionId: execution }),
    () => ({ type: 'complete', completion: { command_id: COMMAND, execution_id: execution, status } }),
    () => ({ type: 'cancel' }),
    () => ({ type: 'withdraw', text: 'not shared' }),
    () => ({ type: 'expire', text: 'too late' }),
    () => ({ type: 'interrupt', text: 'restarted' }),
    () => ({ type: 'lose', text: 'silent' }),
  )();
}

/** One random life. The wall clock goes on, stands still, and now and then jumps back. */
function randomLife(seed: number): Step[] {
  const random = seededRandom(seed);
  const pick = <T>(...choices: T[]): T => choices[Math.floor(random.next() * choices.length)]!;
  let now = 1_000_000;
  let life = newLife(now);
  const steps: Step[] = [];
  for (let step = 0; step < LENGTH; step++) {
    now += pick(0, 1, 250, 20_000, 86_400_000, -600_000);
    const event = randomEvent(pick);
    const { life: after, changed } = transition(life, event, now);
    steps.push({ before: life, event, after, changed });
    life = after;
  }
  return steps;
}

function everyStep(check: (step: Step) => string | null): string | null {
  for (let seed = 1; seed <= SEQUENCES; seed++) {
    for (const step of randomLife(seed)) {
      const wrong = check(step);
      if (wrong !== null) return `seed ${seed}: ${wrong} (${step.event.type} on ${JSON.stringify(step.before)})`;
    }
  }
  return null;
}

t.test('the random lives reach every status', async (t) => {
  const seen = new Set<string>();
  everyStep(({ after }) => {
    seen.add(after.status);
    return null;
  });
  t.equal(seen.size, 8);
});

t.test('no ended command moves, but a lost one by a completion', async (t) => {
  t.equal(
    everyStep(({ before, event, changed }) => {
      if (!hasEnded(before.status) || !changed) return null;
      return before.status === 'lost' && event.type === 'complete' ? null : 'an ended command moved';
    }),
    null,
  );
});

t.test('once a stop was asked for, the end is cancelled (C44)', async (t) => {
  t.equal(
    everyStep(({ before, after }) => {
      if (before.cancelRequestedAt === null || !hasEnded(after.status)) return null;
      return after.status === 'cancelled' ? null : `ended as ${after.status}`;
    }),
    null,
  );
});

t.test('a completion of another execution changes nothing', async (t) => {
  t.equal(
    everyStep(({ before, event, changed }) => {
      if (event.type !== 'complete' || before.executionId === null) return null;
      const other = event.completion.execution_id !== before.executionId;
      return other && changed ? 'another execution completed the command' : null;
    }),
    null,
  );
});

t.test('an execution, once named, stays the same one', async (t) => {
  t.equal(
    everyStep(({ before, after }) =>
      before.executionId !== null && after.executionId !== before.executionId ? 'the execution changed' : null,
    ),
    null,
  );
});

t.test('instants never go back, even when the wall clock does (C19)', async (t) => {
  t.equal(
    everyStep(({ before, after }) => {
      const fields = ['queuedAt', 'offeredAt', 'startedAt', 'finishedAt', 'cancelRequestedAt'] as const;
      for (const field of fields) {
        const [was, is] = [before[field], after[field]];
        if (was !== null && is === null) return `${field} was forgotten`;
        if (was !== null && is !== null && is < was) return `${field} went back`;
      }
      const order = [after.queuedAt, after.startedAt, after.finishedAt].filter((at) => at !== null);
      return order.every((at, index) => index === 0 || at >= order[index - 1]!) ? null : 'the steps are out of order';
    }),
    null,
  );
});

t.test('an event that changed nothing gives back the very same life', async (t) => {
  t.equal(
    everyStep(({ before, after, changed }) => (!changed && after !== before ? 'another object' : null)),
    null,
  );
});
