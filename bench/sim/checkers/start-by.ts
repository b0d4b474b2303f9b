/** A run that has not started by its time never starts: a mail that was asked for last night is not sent this morning. */
import { type Fact, factsOf } from '../history.ts';
import type { Checker, Setup } from './checker.ts';

/** The start-by instant of a run, as near as it can be known from outside. Virtual milliseconds. */
export interface StartBy {
  /** Null when an earlier request, whose answer nobody got, may have queued the run long before. */
  readonly earliest: number | null;
  readonly latest: number;
}

/** The relay's clock shows whole milliseconds. */
const ROUNDING_MS = 1;

/** By command. What counts is when it was queued: between the arrival of the request and its ticket. */
export function startByOf(facts: readonly Fact[], { startByMs }: Setup): Map<string, StartBy> {
  const found = new Map<string, StartBy>();
  for (const { commandId, withinMs, replayed, askedAt, at } of factsOf(facts, 'ticket')) {
    if (found.has(commandId)) continue;
    const within = withinMs ?? startByMs;
    const earliest = replayed ? null : askedAt + within - ROUNDING_MS;
    found.set(commandId, { earliest, latest: at + within + ROUNDING_MS });
  }
  return found;
}

/** Then nobody here knows what the relay takes for late. */
export function relayClockWasSet(facts: readonly Fact[]): boolean {
  return factsOf(facts, 'fault').some(({ kind, where }) => kind === 'wall-step' && where === 'relay');
}

export const nothingStartsTooLate: Checker = {
  rule: 'no run is let start after its start-by time',
  *check(facts, setup) {
    if (relayClockWasSet(facts)) return;
    const startBy = startByOf(facts, setup);
    const askedAt = new Map<string, number>();
    for (const { call, commandId, at } of factsOf(facts, 'call-sent')) {
      if (call === 'control' && commandId !== null && !askedAt.has(commandId)) askedAt.set(commandId, at);
    }
    for (const { at, commandId, instance, go } of factsOf(facts, 'call-ended')) {
      if (go !== true || commandId === null) continue;
      // One that was asked for in time has perhaps started, though the answer was lost.
      const lateMs = (askedAt.get(commandId) ?? 0) - (startBy.get(commandId)?.latest ?? Number.POSITIVE_INFINITY);
      if (lateMs <= 0) continue;
      const text = `${instance} asked for it ${Math.round(lateMs)} ms after its start-by time, and may run it`;
      yield { at, commandId, text };
    }
  },
};
