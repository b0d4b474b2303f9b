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
  readonly onStart?: (run: GraphRun) => void;
  readonly onEnd?: (run: GraphRun, outcome: RunOutcome) => void;
}

export function createTimedEngine(options: TimedEngineOptions): Engine {
  const { clock, stopMs = 0 } = options;

  function start(run: GraphRun): RunningGraph {
    const { promise, resolve } = Promise.withResolvers<RunOutcome>();
    let over = false;
    const end = (outcome: RunOutcome) => {
      if (over) return;
      over = true;
      run.onEvent({ type: 'finished', status: outcome.status });
      options.onEnd?.(run, outcome);
      resolve(outcome);
    };
    options.onStart?.(run);
    run.onEvent({ type: 'fleet_started', run_id: run.executionId });
    const timer = clock.after(options.runMs(run), () => end(outcomeOf('completed', null, run)));
    const cancel = (reason: string) => {
      timer.cancel();
      clock.after(stopMs, () => end(outcomeOf('cancelled', reason, run)));
    };
    return { done: promise, cancel };
  }

  return { start, close: async () => {} };
}

function outcomeOf(status: RunOutcome['status'], error: string | null, run: GraphRun): RunOutcome {
  const resultJson = status === 'completed' ? JSON.stringify({ ran: run.name, args: run.args }) : null;
  return { status, resultJson, error, totalTokens: 0, reportedCost: null };
}
