/** What an agent sees of a run's status, and which way it may move. Written down again here on purpose. */
import { type FactOf, factsOf } from '../history.ts';
import type { Checker } from './checker.ts';

const ORDER: Readonly<Record<string, number>> = {
  queued: 0,
  running: 1,
  completed: 2,
  failed: 2,
  cancelled: 2,
  expired: 2,
  lost: 2,
};

const REPAIRS_OF_LOST: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

export function isEnd(status: string): boolean {
  return ORDER[status] === 2;
}

/** Each answer about a run with the one before it. */
function* steps(facts: Parameters<Checker['check']>[0]): Iterable<[FactOf<'told'>, FactOf<'told'>]> {
  const last = new Map<string, FactOf<'told'>>();
  for (const fact of factsOf(facts, 'told')) {
    const before = last.get(fact.commandId);
    if (before !== undefined) yield [before, fact];
    last.set(fact.commandId, fact);
  }
}

export const noStepBack: Checker = {
  rule: 'what an agent sees of a run never goes back',
  *check(facts) {
    for (const [before, { at, commandId, run }] of steps(facts)) {
      const known = run.status in ORDER;
      if (known && ORDER[run.status]! >= ORDER[before.run.status]!) continue;
      yield { at, commandId, text: `it was told as ${before.run.status}, and then as ${run.status}` };
    }
  },
};

export const endsStay: Checker = {
  rule: 'an end stays; only a lost run may still get its real one',
  *check(facts) {
    for (const [before, { at, commandId, run }] of steps(facts)) {
      const [was, is] = [before.run.status, run.status];
      if (!isEnd(was) || was === 'cancelled' || was === is) continue;
      if (was === 'lost' && REPAIRS_OF_LOST.has(is)) continue;
      yield { at, commandId, text: `it had ended as ${was}, and is told as ${is}` };
    }
  },
};

export const cancelledStays: Checker = {
  rule: 'cancelled stays cancelled',
  *check(facts) {
    for (const [before, { at, commandId, run }] of steps(facts)) {
      if (before.run.status !== 'cancelled' || run.status === 'cancelled') continue;
      yield { at, commandId, text: `it was cancelled, and is told as ${run.status}` };
    }
  },
};
