/** Idempotency keys: one key of one agent stands for one run, and for nothing else. */
import { type FactOf, factsOf } from '../history.ts';
import type { Checker } from './checker.ts';

export const oneKeyOneRun: Checker = {
  rule: 'the same key with the same arguments is the same run',
  *check(facts) {
    const first = new Map<string, FactOf<'ticket'>>();
    for (const fact of factsOf(facts, 'ticket', 'run-refused')) {
      const known = first.get(`${fact.agent} ${fact.key}`);
      if (fact.type === 'ticket' && known === undefined) first.set(`${fact.agent} ${fact.key}`, fact);
      if (known === undefined || known.asked !== fact.asked) continue;
      const { at } = fact;
      const { commandId } = known;
      if (fact.type === 'run-refused') {
        if (fact.askedAt > known.at) yield { at, commandId, text: `${fact.agent} repeats itself and is refused` };
      } else if (fact.commandId !== commandId) {
        yield { at, commandId, text: `${fact.agent} repeats itself and gets another run, ${fact.commandId}` };
      } else if (!fact.replayed && fact.askedAt > known.at) {
        yield { at, commandId, text: `${fact.agent} repeats itself and is told that the run is new` };
      }
    }
  },
};

export const otherArgumentsAreRefused: Checker = {
  rule: 'the same key with other arguments is refused',
  *check(facts) {
    const first = new Map<string, FactOf<'ticket'>>();
    for (const fact of factsOf(facts, 'ticket')) {
      const known = first.get(`${fact.agent} ${fact.key}`);
      if (known === undefined) first.set(`${fact.agent} ${fact.key}`, fact);
      else if (known.asked !== fact.asked) {
        const { at, commandId, agent, key } = fact;
        yield { at, commandId, text: `${agent} used ${key} for another request, and got a ticket` };
      }
    }
  },
};

export const keysAreTheAgentsOwn: Checker = {
  rule: 'the same key of another agent is another run',
  *check(facts) {
    const owner = new Map<string, string>();
    for (const { at, commandId, agent } of factsOf(facts, 'ticket')) {
      const known = owner.get(commandId) ?? agent;
      owner.set(commandId, known);
      if (known !== agent) yield { at, commandId, text: `${agent} got a ticket for a run of ${known}` };
    }
  },
};
