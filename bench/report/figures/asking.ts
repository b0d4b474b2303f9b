/** What asking for results costs a client, and how late it hears: each way of asking, and which of them nothing beats. */
import type { BenchResult, Cell, CompareResult } from '../../result-format.ts';
import { duration, grouped } from '../../text-table.ts';
import { type Figure, type Panel, seriesOf, type Table } from '../figure.ts';
import { across, curve, plot, tickMs, upwards } from '../frame.ts';
import { logarithmic } from '../scale.ts';
import { capital, element, escaped, type Point, path, text } from '../svg.ts';

type Asking = Cell['asking'][number];

/** Two modes tell what there is to tell: how a desktop asks for work hardly changes how a client asks for results. */
const MODES_SHOWN = 2;

export function askingFigures(results: readonly BenchResult[]): Figure[] {
  return results.flatMap((result, index) => {
    if (result.kind !== 'compare') return [];
    const workload = result.workloads.find(({ asking }) => asking.length > 2);
    if (workload === undefined) return [];
    const fault = result.faults[0]!.name;
    const cells = result.cells.filter((cell) => cell.workload === workload.name && cell.fault === fault);
    return [figureOf(result, { id: `asking-${index + 1}`, cells: cells.slice(0, MODES_SHOWN), about: workload.about })];
  });
}

function figureOf(result: CompareResult, given: { id: string; cells: readonly Cell[]; about: string }): Figure {
  const { id, cells, about } = given;
  const strategies = cells[0]!.asking.map(({ strategy }) => strategy);
  return {
    id,
    title: 'How often a client asks, and how late it hears',
    text: [
      `${capital(about)}. Down and left is better. The line joins the ways that nothing beats in both.`,
      'Late is counted from when the relay has the result; the client has no network of its own. Tokens are estimates: of all that is sent, and of the words alone, where a client keeps the data from its model.',
    ],
    panels: cells.map((cell) => panel(cell, { result, cells })),
    legend: strategies.map((strategy, index) => `<li><b>${index + 1}</b> ${escaped(strategy)}</li>`),
    table: tableOf(cells),
    source: result,
  };
}

/** What is less than this late is on time. */
const LEAST_LATE_MS = 1;

const calls = ({ calls: { mean } }: Asking) => mean;
const late = ({ late_ms: { mean } }: Asking) => Math.max(LEAST_LATE_MS, mean);

/** Ways that no other way beats in calls and in lateness, by calls. */
export function frontier<Way extends Pick<Asking, 'calls' | 'late_ms'>>(ways: readonly Way[]): Way[] {
  const beats = (a: Way, b: Way) =>
    a.calls.mean <= b.calls.mean &&
    a.late_ms.mean <= b.late_ms.mean &&
    (a.calls.mean < b.calls.mean || a.late_ms.mean < b.late_ms.mean);
  return ways.filter((way) => !ways.some((other) => beats(other, way))).sort((a, b) => a.calls.mean - b.calls.mean);
}

function panel(cell: Cell, { result, cells }: { result: CompareResult; cells: readonly Cell[] }): Panel {
  const label = `${cell.mode}: mean calls a run against mean lateness, a numbered dot for each way of asking. The numbers are in the table below.`;
  const frame = { label, height: 210, left: 52, top: 26 };
  const all = cells.flatMap(({ asking }) => asking);
  const x = logarithmic({ from: 1, to: Math.max(...all.map(calls)) }, across(frame));
  const y = logarithmic({ from: Math.min(...all.map(late)), to: Math.max(...all.map(late)) }, upwards(frame));
  const at = (way: Asking): Point => [x.at(calls(way)), y.at(late(way))];
  const series = seriesOf(
    cell.mode,
    result.modes.map(({ name }) => name),
  );
  const dots = cell.asking.map((way, index) => dot(at(way), { series, number: index + 1 }));
  const axes = {
    x: { scale: x, name: 'calls of get_graph_run for one run (mean, logarithmic)', tick: String },
    y: { scale: y, name: 'heard late by (mean)', tick: tickMs },
  };
  return { title: cell.mode, svg: plot(frame, axes, [curve(path(frontier(cell.asking).map(at)), series), ...dots]) };
}

function dot([x, y]: Point, { series, number }: { series: number; number: number }): string {
  return (
    element('circle', { cx: x, cy: y, r: 8, class: `dot s${series}` }) +
    text({ x, y: y + 4, class: 'number', 'text-anchor': 'middle' }, String(number))
  );
}

function tableOf(cells: readonly Cell[]): Table {
  const rows = cells.flatMap(({ mode, asking }) => {
    const best = frontier(asking);
    return asking.map((way, index) => [
      `${index + 1} ${way.strategy}, ${mode}`,
      way.calls.mean.toFixed(1),
      duration(way.late_ms.mean),
      duration(way.late_ms.p95),
      grouped(way.tokens_mean),
      grouped(way.tokens_words_mean),
      best.includes(way) ? 'yes' : 'no',
    ]);
  });
  return { head: ['', 'calls a run', 'late, mean', 'late, p95', 'tokens a run', 'words alone', 'unbeaten'], rows };
}
