/**
 * `bench predict`: what a day of somebody's use comes to in a mode, from a run in virtual time over a line like theirs.
 *
 * Owns the arithmetic of a day. While runs go on it has the price of an hour with runs, otherwise that of an hour without;
 * what a run takes, saves and costs its client is the mean of all runs that were simulated.
 */
import { BenchError } from '../bench-error.ts';
import { type CellGiven, planCell } from '../compare/cells.ts';
import { differencesOf } from '../compare/differences.ts';
import type { Fault } from '../faults/fault.ts';
import { measure } from '../measured.ts';
import type { BenchMode } from '../modes/mode.ts';
import plain20s from '../modes/plain-20s.ts';
import { provenance } from '../provenance.ts';
import { type Cell, FORMAT, FORMAT_VERSION, type PredictResult } from '../result-format.ts';
import { CONDITIONS } from '../virtual/bench-world.ts';
import { Plan } from '../virtual/plan.ts';
import clientPolling from '../workloads/client-polling.ts';
import type { Workload } from '../workloads/workload.ts';
import type { Day } from './result.ts';

export interface PredictOptions {
  readonly seed: number;
  /** Simulated of each mode. */
  readonly runs: number;
  readonly threads?: number | undefined;
  readonly runsPerDay: number;
  readonly rttMs: number;
  /** How long each run takes; as in the post when left out. */
  readonly runS?: number | undefined;
  readonly modes: readonly BenchMode[];
  readonly command: string;
}

const DAY_HOURS = 24;
/** How long a desktop without work is watched. */
const IDLE_HOURS = 2;

type Measured = PredictResult['measured'][number] & { readonly cell: Cell };

export async function predict(options: PredictOptions): Promise<PredictResult> {
  const { seed, runs, threads, runsPerDay, rttMs, runS, command } = options;
  const modes = [plain20s, ...options.modes.filter(({ name }) => name !== plain20s.name)];
  const [fault, workload] = [lineOf(rttMs), workloadOf(runS)];
  const plan = new Plan();
  const parts = modes.map((mode) => planMode(plan, { seed, runs, mode, workload, fault }));
  const wall_clock = await measure(plan, { label: 'predict', threads, countRuns: () => runs * modes.length });
  const measured = parts.map((part) => part());
  for (const { cell } of measured) refuseFullDay(cell, runsPerDay);
  return {
    format: FORMAT,
    format_version: FORMAT_VERSION,
    kind: 'predict',
    command,
    seed,
    runs,
    made: await provenance(),
    conditions: { ...CONDITIONS, way_ms: rttMs / 2 },
    modes,
    runs_per_day: runsPerDay,
    rtt_ms: rttMs,
    run_s: runS ?? null,
    days: measured.map((each) => dayOf(each, { first: measured[0]!, seed, runsPerDay })),
    measured: measured.map(({ cell: _, ...each }) => each),
    wall_clock,
  };
}

/** A fault of the line is its weather, and so is how far apart the two sides are. */
function lineOf(rttMs: number): Fault {
  return { name: 'own-line', about: `a round trip takes ${rttMs} ms`, weather: { wayMs: rttMs / 2 }, sleep: null };
}

function workloadOf(runS: number | undefined): Workload {
  return runS === undefined ? clientPolling : { ...clientPolling, name: 'own-runs', run_s: runS };
}

function planMode(plan: Plan, given: CellGiven): () => Measured {
  const { seed, mode, fault } = given;
  const cell = planCell(plan, given);
  const idle = plan.add('idle', { seed, mode, fault, hours: IDLE_HOURS });
  return () => {
    const found = cell();
    return { mode: mode.name, runs: found.runs, idle: idle(), busy: found.busy, cell: found };
  };
}

function busyHours({ metrics }: Cell, runsPerDay: number): number {
  return (runsPerDay * metrics.turnaround!.mean) / 3_600_000;
}

/** Runs would wait for each other all day, and none of this would be true. */
function refuseFullDay(cell: Cell, runsPerDay: number): void {
  const hours = busyHours(cell, runsPerDay);
  if (hours <= DAY_HOURS) return;
  const most = Math.floor((runsPerDay * DAY_HOURS) / hours);
  throw new BenchError(
    'day-too-short',
    `${runsPerDay} runs a day take ${Math.round(hours)} hours one after another in ${cell.mode}. One desktop does ${most} at most; take fewer or shorter ones (--run-seconds), or divide them by your desktops.`,
  );
}

function dayOf(
  { mode, idle, busy, cell }: Measured,
  { first, seed, runsPerDay }: { first: Measured; seed: number; runsPerDay: number },
): Day {
  const hours = busyHours(cell, runsPerDay);
  const inAll = (of: 'requests_per_hour' | 'bytes_per_hour' | 'wakeups_per_hour') =>
    Math.round(hours * busy[of] + (DAY_HOURS - hours) * idle[of]);
  const differences = differencesOf(cell, first.cell, { seed, againstName: first.mode });
  const saved = differences.find(({ metric }) => metric === 'turnaround')!;
  const perDay = (ms: number) => rounded((-ms / 1_000) * runsPerDay, 1);
  return {
    mode,
    turnaround_mean_s: rounded(cell.metrics.turnaround!.mean / 1_000, 3),
    pickup_mean_s: rounded(cell.metrics.pickup!.mean / 1_000, 3),
    saved_s_per_day: { mean: perDay(saved.mean_ms), low: perDay(saved.high_ms), high: perDay(saved.low_ms) },
    requests_per_day: inAll('requests_per_hour'),
    bytes_per_day: inAll('bytes_per_hour'),
    wakeups_per_day: inAll('wakeups_per_hour'),
    asking: cell.asking.map(({ strategy, calls, tokens_mean, tokens_words_mean, late_ms }) => ({
      strategy,
      calls_per_day: rounded(calls.mean * runsPerDay, 1),
      tokens_per_day: Math.round(tokens_mean * runsPerDay),
      tokens_words_per_day: Math.round(tokens_words_mean * runsPerDay),
      late_mean_s: rounded(late_ms.mean / 1_000, 3),
    })),
  };
}

/** Never a negative zero, which some would print. */
function rounded(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits + 0;
}
