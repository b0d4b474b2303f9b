/**
 * The virtual side: each round of the real desktops once more in virtual time, with the line and the disk of this machine,
 * and the samples of both sides in one form.
 */
import { METRIC_NAMES, sampleOf } from '../compare/metrics.ts';
import type { Fault } from '../faults/fault.ts';
import type { BenchMode } from '../modes/mode.ts';
import type { Plan } from '../virtual/plan.ts';
import type { RunRecord } from '../virtual/rounds.ts';
import type { Workload } from '../workloads/workload.ts';
import { CALLS, COMPLETED, FIRST } from './agreement.ts';
import type { LiveSamples } from './result.ts';

/** What lies between the two sides on this machine. */
export interface Conditions {
  readonly way_ms: number;
  readonly disk_ms: number;
}

/** Adds the work to the plan: a world of its own for each round, as each real round has a desktop of its own. */
export function planTwins(
  plan: Plan,
  given: { seed: number; mode: BenchMode; workload: Workload; rounds: number; conditions: Conditions },
): () => RunRecord[] {
  const { seed, mode, workload, conditions } = given;
  const fault = thisMachine(conditions);
  const parts = Array.from({ length: given.rounds }, (_, firstRound) =>
    plan.add('rounds', {
      seed,
      mode,
      workload,
      fault,
      firstRound,
      rounds: 1,
      metered: false,
      weighsAnswers: false,
      diskMs: conditions.disk_ms,
    }),
  );
  return () => parts.flatMap((part) => part().records);
}

function thisMachine({ way_ms }: Conditions): Fault {
  return { name: 'this-machine', about: 'the loopback of this machine', weather: { wayMs: way_ms }, sleep: null };
}

export function samplesOf(records: readonly RunRecord[], workload: Workload): LiveSamples {
  const first = sampleOf('pickup', records).map((value, at) => (records[at]!.index === 0 ? value : null));
  const times = METRIC_NAMES.map((metric) => [metric, sampleOf(metric, records)] as const);
  const calls = workload.asking.map(
    ({ name }, index) => [CALLS + name, records.map(({ asked }) => asked[index]?.calls ?? null)] as const,
  );
  const completed = records.map(({ status }) => (status === 'completed' ? 1 : 0));
  return Object.fromEntries([[FIRST, first], ...times, ...calls, [COMPLETED, completed]]);
}
