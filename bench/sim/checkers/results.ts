/** What agents read: the engine's own result, and their own runs. */
import { type FactOf, factsOf } from '../history.ts';
import type { Checker } from './checker.ts';

export const resultIsTheEngines: Checker = {
  rule: "a completed run has the engine's own result",
  *check(facts) {
    const ends = new Map<string, FactOf<'engine-ended'>>();
    for (const fact of factsOf(facts, 'engine-ended', 'told')) {
      if (fact.type === 'engine-ended') {
        ends.set(`${fact.commandId} ${fact.executionId}`, fact);
      } else if (fact.run.status === 'completed') {
        const { at, commandId, run } = fact;
        const end = ends.get(`${commandId} ${run.executionId}`);
        if (end?.status !== 'completed') yield { at, commandId, text: 'no engine has completed this execution' };
        else if (end.result !== run.result) {
          yield { at, commandId, text: `the engine returned ${end.result}, and the agent was told ${run.result}` };
        }
      } else if (fact.run.result !== null) {
        yield {
          at: fact.at,
          commandId: fact.commandId,
          text: `it is ${fact.run.status}, and has a result all the same`,
        };
      }
    }
  },
};

export const ownRunsOnly: Checker = {
  rule: 'nobody sees a run of another agent, or of a project that is not theirs',
  *check(facts, { projects }) {
    const owner = new Map<string, string>();
    for (const fact of factsOf(facts, 'ticket', 'told')) {
      const { at, commandId, agent } = fact;
      if (fact.type === 'ticket') {
        if (!owner.has(commandId)) owner.set(commandId, agent);
        continue;
      }
      if (owner.get(commandId) !== agent)
        yield { at, commandId, text: `${agent} reads a run of ${owner.get(commandId)}` };
      const { projectId } = fact.run;
      if (!projects.get(agent)?.includes(projectId))
        yield { at, commandId, text: `${agent} reads a run of ${projectId}` };
    }
  },
};
