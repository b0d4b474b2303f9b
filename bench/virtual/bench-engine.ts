/**
 * Graphs that take the time that their arguments say, and a table of when each of them ran.
 *
 * Owns what a run's arguments mean to the bench. The time comes with the request, so the same request takes the same
 * time in each mode that is compared.
 */
import type { Engine, GraphRun, RunOutcome } from '../../desktop-agent/ports.ts';
import type { Clock } from '../../protocol/ports.ts';
import { completedWith, createTimedEngine } from '../sim/timed-engine.ts';

/** What the bench asks of a run. */
export type RunOrder = {
  readonly run_ms: number;
  /** A result of so many of these characters; a short one when left out. */
  readonly text?: { readonly of: string; readonly chars: number };
};

export interface RunTimes {
  readonly startedAt: number;
  endedAt: number | null;
  status: RunOutcome['status'] | null;
}

export interface RunTable {
  readonly engine: Engine;
  /** By command. Instants of the world, in milliseconds. A second start of a command would be a fault, and throws. */
  readonly times: ReadonlyMap<string, RunTimes>;
}

export function createRunTable(given: { world: Clock; clock: Clock; stopMs: number }): RunTable {
  const { world, clock, stopMs } = given;
  const times = new Map<string, RunTimes>();
  const engine = createTimedEngine({
    clock,
    stopMs,
    runMs: (run) => orderOf(run).run_ms,
    ending: (run) => completedWith(resultOf(orderOf(run))),
    onStart(run) {
      if (times.has(run.commandId)) throw new Error(`command ${run.commandId} was started a second time`);
      times.set(run.commandId, { startedAt: world.monotonic(), endedAt: null, status: null });
    },
    onEnd(run, { status }) {
      const each = times.get(run.commandId)!;
      each.endedAt = world.monotonic();
      each.status = status;
    },
  });
  return { engine, times };
}

function orderOf({ args }: GraphRun): RunOrder {
  return args as RunOrder;
}

function resultOf({ text }: RunOrder): unknown {
  return text === undefined ? { answer: 'done' } : text.of.repeat(text.chars);
}
