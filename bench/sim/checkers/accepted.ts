/** What was promised with a ticket or an answer stays true, also over the relay's restarts. */
import { type Fact, type FactOf, factsOf } from '../history.ts';
import type { Break, Checker } from './checker.ts';
import { isEnd } from './statuses.ts';

export const acceptedRunsExist: Checker = {
  rule: 'a run that was accepted exists for ever after',
  *check(facts) {
    const known = new Set<string>();
    for (const fact of factsOf(facts, 'ticket', 'not-found')) {
      const name = `${fact.agent} ${fact.commandId}`;
      if (fact.type === 'ticket') known.add(name);
      else if (known.has(name)) {
        yield { at: fact.at, commandId: fact.commandId, text: `${fact.agent} had a ticket, and was told "not found"` };
      }
    }
  },
};

export const storedCompletionsStay: Checker = {
  rule: 'a completion that the relay has taken is never forgotten',
  *check(facts) {
    const storedAt = new Map<string, number>();
    for (const fact of factsOf(facts, 'call-ended', 'told')) {
      if (fact.type === 'call-ended') {
        const taken = fact.call === 'complete' && fact.error === null && fact.commandId !== null;
        if (taken) storedAt.set(fact.commandId!, fact.at);
      } else if ((storedAt.get(fact.commandId) ?? Number.POSITIVE_INFINITY) < fact.askedAt && !isEnd(fact.run.status)) {
        yield {
          at: fact.at,
          commandId: fact.commandId,
          text: `its end was stored, and it is told as ${fact.run.status}`,
        };
      }
    }
  },
};

export const toldIsOnDisk: Checker = {
  rule: "what was told is on the relay's disk",
  *check(facts) {
    const last = new Map<string, FactOf<'told'>>();
    /** Told by an earlier life of the relay than the one that serves. */
    let before = new Map<string, FactOf<'told'>>();
    for (const fact of facts) {
      if (fact.type === 'relay-started') before = new Map(last);
      if (fact.type !== 'told') continue;
      const earlier = before.get(fact.commandId);
      if (earlier !== undefined) yield* forgotten(earlier, fact);
      before.delete(fact.commandId);
      last.set(fact.commandId, fact);
    }
    yield* missingAfterRestart(facts);
  },
};

function* forgotten(earlier: FactOf<'told'>, now: FactOf<'told'>): Iterable<Break> {
  const { commandId, at } = now;
  const [was, is] = [earlier.run, now.run];
  const weaker =
    (isEnd(was.status) && !isEnd(is.status)) || (was.status === 'running' && is.status === 'queued')
      ? `${was.status}, and after the restart ${is.status}`
      : was.cancelRequested && !is.cancelRequested && !isEnd(is.status)
        ? 'that a stop is asked for, and after the restart not'
        : was.executionId !== null && !isEnd(was.status) && is.executionId !== was.executionId && !isEnd(is.status)
          ? `execution ${was.executionId}, and after the restart ${is.executionId}`
          : null;
  if (weaker !== null) yield { at, commandId, text: `the agent was told ${weaker}` };
}

function* missingAfterRestart(facts: readonly Fact[]): Iterable<Break> {
  const known = new Set<string>();
  let restarted = false;
  for (const fact of facts) {
    if (fact.type === 'relay-started') restarted = true;
    if (fact.type === 'ticket') known.add(`${fact.agent} ${fact.commandId}`);
    if (fact.type === 'not-found' && restarted && known.has(`${fact.agent} ${fact.commandId}`)) {
      yield {
        at: fact.at,
        commandId: fact.commandId,
        text: 'the agent had a ticket, and after a restart there is no run',
      };
    }
  }
}
