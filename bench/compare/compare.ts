/** `bench compare`: any modes on the same workloads with the same seeds, and what each costs. */
import type { Fault } from '../faults/fault.ts';
import { measure } from '../measured.ts';
import type { BenchMode } from '../modes/mode.ts';
import { provenance } from '../provenance.ts';
import { type Cell, type CompareResult, FORMAT, FORMAT_VERSION } from '../result-format.ts';
import { CONDITIONS } from '../virtual/bench-world.ts';
import { Plan } from '../virtual/plan.ts';
import type { Workload } from '../workloads/workload.ts';
import { againstBaseline } from './baseline.ts';
import { planCell } from './cells.ts';
import { allDifferences } from './differences.ts';

export interface CompareOptions {
  readonly seed: number;
  /** Of each cell, at least. */
  readonly runs: number;
  readonly modes: readonly BenchMode[];
  readonly workloads: readonly Workload[];
  readonly faults: readonly Fault[];
  readonly threads?: number | undefined;
  readonly baseline?: CompareResult | undefined;
  /** The command that makes this result again. */
  readonly command: string;
}

/** How long a desktop without work is watched. */
const IDLE_HOURS = 2;

export async function compare(options: CompareOptions): Promise<CompareResult> {
  const { seed, runs, modes, workloads, faults, threads, baseline, command } = options;
  const plan = new Plan();
  const parts = workloads.flatMap((workload) =>
    faults.flatMap((fault) => modes.map((mode) => planCell(plan, { seed, runs, mode, workload, fault }))),
  );
  const idles = faults.flatMap((fault) =>
    modes.map((mode) => {
      const price = plan.add('idle', { seed, mode, fault, hours: IDLE_HOURS });
      return () => ({ mode: mode.name, fault: fault.name, price: price() });
    }),
  );
  let cells: Cell[] = [];
  const countRuns = () => {
    cells = parts.map((part) => part());
    return cells.reduce((sum, cell) => sum + cell.runs, 0);
  };
  const wall_clock = await measure(plan, { label: 'compare', threads, countRuns });
  const result: Omit<CompareResult, 'baseline'> = {
    format: FORMAT,
    format_version: FORMAT_VERSION,
    kind: 'compare',
    command,
    seed,
    runs,
    made: await provenance(),
    conditions: CONDITIONS,
    modes: [...modes],
    workloads: [...workloads],
    faults: [...faults],
    cells,
    idle: idles.map((idle) => idle()),
    differences: allDifferences(cells, seed),
    wall_clock,
  };
  return { ...result, baseline: baseline === undefined ? null : againstBaseline(result, baseline) };
}
