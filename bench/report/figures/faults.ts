/** What trouble does to each mode: how long runs wait then, and that all of them end; and what the simulation has thrown at both sides. */
import type { BenchResult, Cell, CompareResult, SimResult } from '../../result-format.ts';
import { duration, grouped } from '../../text-table.ts';
import { type Figure, type Panel, seriesOf, type Table } from '../figure.ts';
import { across, line, plot, tickMs, upwards } from '../frame.ts';
import { linear, logarithmic } from '../scale.ts';
import { capital, element, text } from '../svg.ts';

export function faultFigures(results: readonly BenchResult[]): Figure[] {
  return results.flatMap((result, index) => {
    if (result.kind !== 'compare' || result.faults.every(({ name }) => name === 'none')) return [];
    const figure = figureOf(result, `faults-${index + 1}`);
    return figure === null ? [] : [figure];
  });
}

type Summary = NonNullable<Cell['metrics'][string]>;
interface Suffered {
  readonly cell: Cell;
  readonly pickup: Summary;
}

/** Null where no run has begun. */
function figureOf(result: CompareResult, id: string): Figure | null {
  const [workload] = result.workloads;
  const groups = result.faults.map((fault) => ({
    fault,
    suffered: result.cells
      .filter((cell) => cell.fault === fault.name && cell.workload === workload!.name)
      .flatMap((cell): Suffered[] => {
        const { pickup } = cell.metrics;
        return pickup == null ? [] : [{ cell, pickup }];
      }),
  }));
  const all = groups.flatMap(({ suffered }) => suffered);
  if (all.length === 0) return null;
  const sum = (of: (cell: Cell) => number) => all.reduce((total, { cell }) => total + of(cell), 0);
  const [runs, completed] = [sum((cell) => cell.runs), sum(({ ends }) => ends.completed ?? 0)];
  return {
    id,
    title: 'Trouble that it gets through',
    text: [
      `${grouped(completed)} of ${grouped(runs)} runs have completed. From the start call until a run begins: the dot is the median, the line goes to the 99th percentile, with a mark at the 95th.`,
      ...groups.map(({ fault }) => `${capital(fault.name)}: ${fault.about}.`),
    ],
    panels: groups.map(({ fault, suffered }) => panel(fault.name, { suffered, all, result })),
    legend: [],
    table: tableOf(all),
    source: result,
  };
}

const ROW = 34;

function panel(
  fault: string,
  { suffered, all, result }: { suffered: readonly Suffered[]; all: readonly Suffered[]; result: CompareResult },
): Panel {
  const label = `${fault}: wait until a run begins, by mode. The numbers are in the table below.`;
  const frame = { label, height: suffered.length * ROW + 4, left: 22, top: 4 };
  const [least, greatest] = [
    Math.min(...all.map((each) => each.pickup.median)),
    Math.max(...all.map((each) => each.pickup.p99)),
  ];
  const scale = logarithmic({ from: least, to: greatest }, across(frame));
  const names = result.modes.map(({ name }) => name);
  const { to: top } = upwards(frame);
  const marks = suffered.flatMap(({ cell, pickup: { median, p95, p99 } }, index) => {
    const y = top + index * ROW + 24;
    const series = seriesOf(cell.mode, names);
    return [
      text({ x: across(frame).from, y: y - 10, class: 'name' }, cell.mode),
      line({ x1: scale.at(median), y1: y, x2: scale.at(p99), y2: y }, `reach s${series}`),
      line({ x1: scale.at(p95), y1: y - 5, x2: scale.at(p95), y2: y + 5 }, `reach s${series}`),
      line({ x1: scale.at(p99), y1: y - 5, x2: scale.at(p99), y2: y + 5 }, `reach s${series}`),
      element('circle', { cx: scale.at(median), cy: y, r: 5, class: `spot s${series}` }),
    ];
  });
  const x = { scale, name: 'time since the start call (logarithmic)', tick: tickMs };
  return { title: fault, svg: plot(frame, { x }, marks) };
}

function tableOf(all: readonly Suffered[]): Table {
  const rows = all.map(({ cell, pickup: { median, p95, p99, max } }) => [
    `${cell.fault}, ${cell.mode}`,
    String(cell.runs),
    String(cell.ends.completed ?? 0),
    ...[median, p95, p99, max].map(duration),
  ]);
  return { head: ['', 'runs', 'completed', 'median', 'p95', 'p99', 'max'], rows };
}

export function simFigures(results: readonly BenchResult[]): Figure[] {
  return results.flatMap((result, index) => (result.kind === 'sim' ? [simFigure(result, `sim-${index + 1}`)] : []));
}

function simFigure(result: SimResult, id: string): Figure {
  const { faults, passed, seeds, runs, virtual_minutes, failed, first_seed } = result;
  const counted = Object.entries(faults).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  const total = counted.reduce((sum, [, count]) => sum + count, 0);
  const verdict =
    failed.length === 0
      ? 'Nothing was lost, nothing ran twice, every run ended.'
      : `Failed: ${failed.map(({ seed, replay }) => `seed ${seed} (${replay})`).join(', ')}.`;
  return {
    id,
    title: 'What the simulation has thrown at both sides',
    text: [
      `${passed} of ${seeds} worlds passed (seeds ${first_seed} to ${first_seed + seeds - 1}): ${grouped(runs)} runs, ${grouped(total)} faults in ${grouped(virtual_minutes)} virtual minutes. ${verdict}`,
      'Each seed is a world of its own, judged by checkers that share nothing with what they check.',
    ],
    panels: [simPanel(counted)],
    legend: [],
    table: { head: ['fault', 'times'], rows: counted.map(([name, count]) => [name, String(count)]) },
    source: result,
  };
}

const FAULT_ROW = 18;

function simPanel(counted: readonly (readonly [string, number])[]): Panel {
  const title = 'How often each fault struck';
  const frame = {
    label: `${title}. The numbers are in the table below.`,
    height: counted.length * FAULT_ROW,
    left: 150,
    top: 4,
  };
  const greatest = Math.max(1, ...counted.map(([, count]) => count));
  const scale = linear(greatest * 1.15, across(frame), 3);
  const { to: top } = upwards(frame);
  const marks = counted.flatMap(([name, count], index) => {
    const y = top + index * FAULT_ROW + 3;
    const width = Math.max(1, scale.at(count) - scale.at(0));
    return [
      text({ x: across(frame).from - 6, y: y + 10, class: 'tick', 'text-anchor': 'end' }, name),
      element('rect', { x: scale.at(0), y, width, height: 12, class: 'bar s1' }),
      text({ x: scale.at(count) + 5, y: y + 10, class: 'value' }, String(count)),
    ];
  });
  return { title, svg: plot(frame, { x: { scale, name: 'times in all worlds', tick: (v) => grouped(v) } }, marks) };
}
