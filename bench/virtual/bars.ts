/** The first round as a Gantt chart needs it: when each of its runs was queued, began, ended, and was known to have ended. */
import type { Bar } from '../result-format.ts';
import type { RunRecord } from './rounds.ts';

export function barsOf(records: readonly RunRecord[]): Bar[] {
  const bars = records.filter(({ round }) => round === records[0]!.round);
  const since = Math.min(...bars.map(({ queuedAt }) => queuedAt));
  const at = (instant: number) => Math.round(instant - since) / 1_000;
  const orNull = (instant: number | null) => (instant === null ? null : at(instant));
  return bars.map(({ queuedAt, startedAt, endedAt, knownAt }) => ({
    queued_s: at(queuedAt),
    started_s: orNull(startedAt),
    ended_s: orNull(endedAt),
    known_s: at(knownAt),
  }));
}
