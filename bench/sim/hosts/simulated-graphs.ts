/**
 * The Graphs of a simulated desktop: how long each run takes and how it ends is drawn from its command, so it does not
 * depend on when or where it runs. Every start and every end is written down.
 */
import type { Engine, GraphRun, RunOutcome } from '../../../desktop-agent/ports.ts';
import { Dice } from '../faults/dice.ts';
import type { InstanceRef } from '../history.ts';
import { namedRandom } from '../seeded.ts';
import { completedWith, createTimedEngine, outcomeWithoutResult } from '../timed-engine.ts';
import type { DesktopHostOptions } from './desktop-host.ts';
import type { Life } from './machine.ts';

export interface GraphHabits {
  readonly minMs: number;
  readonly maxMs: number;
  readonly stopMs: number;
  readonly failShare: number;
}

export function createObservedEngine(
  { history, seed, graphs, defects }: DesktopHostOptions,
  { ref, life }: { readonly ref: InstanceRef; readonly life: Life },
): Engine {
  const habitsOf = (run: GraphRun) => {
    const dice = new Dice(namedRandom(seed, run.commandId));
    return { runMs: dice.magnitude(graphs.minMs, graphs.maxMs), fails: dice.chance(graphs.failShare) };
  };
  const ids = ({ commandId, executionId }: GraphRun) => ({ commandId, executionId });
  const engine = createTimedEngine({
    clock: life,
    runMs: (run) => habitsOf(run).runMs,
    stopMs: graphs.stopMs,
    ending: (run): RunOutcome =>
      habitsOf(run).fails
        ? outcomeWithoutResult('failed', 'the Graph threw')
        : completedWith({ by: run.executionId, args: run.args }),
    onStart: (run) => {
      history.add({ type: 'engine-started', ...ref, ...ids(run) });
      history.tell(ref.instance, 'ENGINE STARTS', run.commandId);
    },
    onEnd: (run, outcome) => {
      history.add({ type: 'engine-ended', ...ref, ...ids(run), status: outcome.status, result: outcome.resultJson });
      history.tell(ref.instance, `ENGINE ENDS ${outcome.status}`, run.commandId);
    },
  });
  return defects.engine?.(engine) ?? engine;
}
