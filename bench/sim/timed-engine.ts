/**
 * An engine whose Graphs take a given time and do nothing else. It stands in for QuickJS in virtual time only: what is
 * simulated is the relay, and a real interpreter would burn real time.
 */

import type { Engine, GraphRun, RunningGraph, RunOutcome } from '../../desktop-agent/ports.ts';
import type { Clock } from '../../protocol/ports.ts';

export interface TimedEngineOptions {
  readonly clock: Clock;
  readonly runMs: (run: GraphRun) => number;
  /** From a cancel until the run is over. */
  readonly stopMs?: number;
  /** How a run ends that nobody stopped; without it, completed. */
  readonly ending?: (run: GraphRun) => RunOutcome;
  readonly onStart?: (run: GraphRun) => void;
  readonly onEnd?: (run: GraphRun, outcome: RunOutcome) => void;
}

export function createTimedEngine(options: TimedEngineOptions): Engine {
  const { clock, stopMs = 0, ending = completed } = options;

  function start(run: GraphRun): RunningGraph {
    const { promise, resolve } = Promise.withResolvers<RunOutcome>();
    let over = false;
    const end = (outcome: RunOutcome) => {
      if (over) return;
      over = true;
      const { status, error, totalTokens: tokens, reportedCost: cost } = outcome;
      run.onEvent({ type: 'finished', status, tokens, cost, error });
      options.onEnd?.(run, outcome);
      resolve(outcome);
    };
    options.onStart?.(run);
    run.onEvent({ type: 'fleet_started', run_id: run.executionId });
    const timer = clock.after(options.runMs(run), () => end(ending(run)));
    const cancel = (reason: string) => {
      timer.cancel();
      clock.after(stopMs, () => end(outcomeWithoutResult('cancelled', reason)));
    };
    return { done: promise, cancel };
  }

  return { start, close: async () => {} };
}

function completed(run: GraphRun): RunOutcome {
  return completedWith({ ran: run.name, args: run.args });
}

export function completedWith(result: unknown): RunOutcome {
  return { status: 'completed', resultJson: JSON.stringify(result), error: null, totalTokens: 0, reportedCost: null };
}

export function outcomeWithoutResult(status: 'failed' | 'cancelled', error: string): RunOutcome {
  return { status, resultJson: null, error, totalTokens: 0, reportedCost: null };
}
