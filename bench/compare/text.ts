/** A comparison for a terminal: for each workload and fault how long things took, and what that cost. */
import type { Cell, CompareResult, Difference } from '../result-format.ts';
import { duration, grouped, shown, textTable } from '../text-table.ts';
import { METRIC_NAMES } from './metrics.ts';

type Price = Cell['busy'];

export function compareLines(result: CompareResult): string[] {
  const { workloads, faults, conditions, wall_clock, runs, seed, cells } = result;
  const groups = workloads.flatMap((workload) => faults.map((fault) => ({ workload, fault })));
  const { simulated_runs, duration_ms, simulated_runs_per_s, threads } = wall_clock;
  return [
    `Production relay and desktop in virtual time, ${runs} runs of each, paired by seed (${seed}).`,
    `A line of ${conditions.way_ms} ms one way ± 30 %, disks of ${conditions.disk_ms} ms. Agents have no network of their own.`,
    'Differences: the same run of the same round in both modes; the interval holds 95 % of bootstrapped means.',
    '',
    ...groups.flatMap(({ workload, fault }) => {
      const own = cells.filter((cell) => cell.workload === workload.name && cell.fault === fault.name);
      const trouble = fault.name === 'none' ? '' : `, and ${fault.about}`;
      return [
        `${workload.name} · ${fault.name}: ${workload.about}${trouble}`,
        ...endsLines(own),
        ...textTable(timeRows(own, result.differences)),
        ...textTable(askingRows(own)),
        ...textTable(
          priceRows(
            own.map(({ mode, busy }) => ({ mode, price: busy })),
            'busy',
          ),
        ),
        '',
      ];
    }),
    ...faults.flatMap((fault) => {
      const own = result.idle.filter((idle) => idle.fault === fault.name);
      return [`no work at all · ${fault.name}`, ...textTable(priceRows(own, 'idle')), ''];
    }),
    ...baselineLines(result),
    `${grouped(simulated_runs)} simulated runs in ${(duration_ms / 1_000).toFixed(1)} s on ${threads} threads: ${grouped(simulated_runs_per_s)} runs/s.`,
  ];
}

/** Said only where something did not just complete. */
function endsLines(cells: readonly Cell[]): string[] {
  return cells
    .filter(({ ends }) => Object.keys(ends).some((status) => status !== 'completed'))
    .map(({ mode, ends }) => {
      const told = Object.entries(ends).map(([status, count]) => `${count} ${status}`);
      return `  ${mode}: ${told.join(', ')}`;
    });
}

function timeRows(cells: readonly Cell[], differences: readonly Difference[]): string[][] {
  const first = cells[0]?.mode ?? '';
  const rows = METRIC_NAMES.flatMap((metric) =>
    cells.flatMap((cell) => {
      const summary = cell.metrics[metric];
      if (!summary) return [];
      const { median, p95, p99 } = summary;
      const { workload, fault, mode } = cell;
      const difference = differences.find(
        (each) =>
          each.workload === workload &&
          each.fault === fault &&
          each.metric === metric &&
          each.mode === mode &&
          each.against === first,
      );
      return [[`  ${metric.padEnd(10)}  ${mode}`, ...[median, p95, p99].map(duration), differenceOf(difference)]];
    }),
  );
  return rows.length === 0 ? [] : [['', 'median', 'p95', 'p99', `mean against ${first}`], ...rows];
}

function differenceOf(difference: Difference | undefined): string {
  if (difference === undefined) return '';
  const { mean_ms, low_ms, high_ms } = difference;
  return `${signed(mean_ms)}  [${signed(low_ms)}, ${signed(high_ms)}]`;
}

function signed(ms: number): string {
  return `${ms > 0 ? '+' : ms < 0 ? '−' : ''}${duration(Math.abs(ms))}`;
}

function askingRows(cells: readonly Cell[]): string[][] {
  const rows = cells.flatMap(({ mode, asking }) =>
    asking.map(({ strategy, calls, tokens_mean, tokens_words_mean, late_ms }) => [
      `  asking      ${mode}  ${strategy}`,
      shown(calls.mean, 1),
      calls.p95.toFixed(0),
      grouped(tokens_mean),
      grouped(tokens_words_mean),
      duration(late_ms.mean),
      duration(late_ms.p95),
    ]),
  );
  return rows.length === 0 ? [] : [['', 'calls a run', 'p95', 'tokens', 'words alone', 'late', 'p95'], ...rows];
}

function priceRows(prices: readonly { mode: string; price: Price }[], when: string): string[][] {
  const heading = ['', 'requests/h', 'bytes/h', 'held', 'most', 'wake-ups/h'];
  return [heading, ...prices.map(({ mode, price }) => [`  ${when.padEnd(10)}  ${mode}`, ...priceCells(price)])];
}

function priceCells(price: Price): string[] {
  const { requests_per_hour, bytes_per_hour, held_mean, held_most, wakeups_per_hour } = price;
  return [
    grouped(requests_per_hour),
    grouped(bytes_per_hour),
    held_mean.toFixed(2),
    String(held_most),
    grouped(wakeups_per_hour),
  ];
}

function baselineLines({ baseline }: CompareResult): string[] {
  if (baseline === null) return [];
  const { differences, prices, commit } = baseline;
  const times = differences.map((each) => [
    `  ${each.workload} · ${each.fault}  ${each.metric}  ${each.mode}`,
    differenceOf(each),
  ]);
  const costs = prices.map(({ mode, workload, fault, before, after }) => [
    `  ${workload ?? 'no work'} · ${fault}  ${mode}`,
    `${grouped(before.requests_per_hour)} → ${grouped(after.requests_per_hour)}`,
    `${grouped(before.bytes_per_hour)} → ${grouped(after.bytes_per_hour)}`,
    `${grouped(before.wakeups_per_hour)} → ${grouped(after.wakeups_per_hour)}`,
  ]);
  return [
    `Against the baseline (commit ${commit ?? 'unknown'}): now minus then, the same runs`,
    ...textTable([['', 'mean'], ...times]),
    ...textTable([['', 'requests/h', 'bytes/h', 'wake-ups/h'], ...costs]),
    '',
  ];
}
