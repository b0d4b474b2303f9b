/** One mode on one workload with one fault: the work to do, and what it came to. */
import type { Fault } from '../faults/fault.ts';
import type { BenchMode } from '../modes/mode.ts';
import type { Cell } from '../result-format.ts';
import { meanOf, roundedSummary, type Summary, summarize } from '../statistics.ts';
import { barsOf } from '../virtual/bars.ts';
import type { Plan } from '../virtual/plan.ts';
import type { RunRecord } from '../virtual/rounds.ts';
import { runsOf, type Workload } from '../workloads/workload.ts';
import { METRIC_NAMES, type MetricName, present, type Sample, sampleOf } from './metrics.ts';

/** The price is measured over about as many runs: on the whole stack each takes ten times as long, and it varies little. */
const PRICED_RUNS = 20;

export interface CellGiven {
  readonly seed: number;
  readonly runs: number;
  readonly mode: BenchMode;
  readonly workload: Workload;
  readonly fault: Fault;
}

/** Adds the work to the plan. Returns what it came to, once the plan has run. */
export function planCell(plan: Plan, { seed, runs, mode, workload, fault }: CellGiven): () => Cell {
  const rounds = roundsFor(runs, workload);
  const pricedRounds = Math.min(rounds, roundsFor(PRICED_RUNS, workload));
  const records = plan.addRounds({ seed, mode, workload, fault, rounds, weighsAnswers: true });
  const price = plan.addPrice({ seed, mode, workload, fault, rounds: pricedRounds });
  return () => cellOf({ mode, workload, fault, rounds, records: records(), busy: price() });
}

function roundsFor(runs: number, workload: Workload): number {
  return Math.ceil(runs / runsOf(workload));
}

function cellOf(given: {
  mode: BenchMode;
  workload: Workload;
  fault: Fault;
  rounds: number;
  records: readonly RunRecord[];
  busy: Cell['busy'];
}): Cell {
  const { mode, workload, fault, rounds, records, busy } = given;
  const samples = Object.fromEntries(METRIC_NAMES.map((metric) => [metric, sampleOf(metric, records)] as const));
  const metrics = METRIC_NAMES.map((metric) => [metric, summaryOf(present(samples[metric]!))] as const);
  return {
    mode: mode.name,
    workload: workload.name,
    fault: fault.name,
    rounds,
    runs: records.length,
    ends: countsOf(records.map(({ status }) => status)),
    metrics: Object.fromEntries(metrics),
    samples: samples as Record<MetricName, Sample>,
    first_round: barsOf(records),
    asking: workload.asking.map(({ name }, index) => {
      const asked = records.map((record) => ({
        ...record.asked[index]!,
        lateMs: record.asked[index]!.knewAt - record.knownAt,
      }));
      return {
        strategy: name,
        calls: summaryOf(asked.map(({ calls }) => calls))!,
        late_ms: summaryOf(asked.map(({ lateMs }) => lateMs))!,
        tokens_mean: Math.round(meanOf(asked.map(({ tokens }) => tokens.all))),
        tokens_words_mean: Math.round(meanOf(asked.map(({ tokens }) => tokens.words))),
      };
    }),
    busy,
  };
}

function summaryOf(sample: readonly number[]): Summary | null {
  const summary = summarize(sample);
  return summary === null ? null : roundedSummary(summary, 3);
}

function countsOf(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of [...values].sort()) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}
