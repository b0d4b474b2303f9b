/** What a mode costs: requests, bytes, wake-ups and what is held open, without work and with it, and what its clients spend. */
import type { BenchResult, Cell, CompareResult } from '../../result-format.ts';
import { grouped } from '../../text-table.ts';
import { type Figure, type Panel, seriesOf, type Table } from '../figure.ts';
import { across, plot, upwards } from '../frame.ts';
import { linear } from '../scale.ts';
import { element, text } from '../svg.ts';

export function priceFigures(results: readonly BenchResult[]): Figure[] {
  return results.flatMap((result, index) => {
    if (result.kind !== 'compare' || !result.workloads.some(({ starts }) => starts.length === 1)) return [];
    const fault = result.faults[0]!.name;
    const workload = result.workloads.find(({ asking }) => asking.length > 0) ?? result.workloads[0]!;
    const cells = result.cells.filter((cell) => cell.workload === workload.name && cell.fault === fault);
    const costs = cells.map((cell) => costOf(cell, result));
    return costs.every((cost) => cost !== null) ? [figureOf(result, { id: `price-${index + 1}`, costs, cells })] : [];
  });
}

type Price = Cell['busy'];

interface Cost {
  readonly mode: string;
  readonly series: number;
  readonly idle: Price;
  readonly busy: Price;
  /** Null where nobody asked. */
  readonly calls: number | null;
  readonly tokens: number | null;
}

function costOf(cell: Cell, { idle, modes }: CompareResult): Cost | null {
  const without = idle.find(({ mode, fault }) => mode === cell.mode && fault === cell.fault);
  if (without === undefined) return null;
  const [asking] = cell.asking;
  const names = modes.map(({ name }) => name);
  return {
    mode: cell.mode,
    series: seriesOf(cell.mode, names),
    idle: without.price,
    busy: cell.busy,
    calls: asking?.calls.mean ?? null,
    tokens: asking?.tokens_mean ?? null,
  };
}

interface Measure {
  readonly title: string;
  readonly axis: string;
  readonly idle: ((price: Price) => number) | null;
  readonly busy: (cost: Cost) => number | null;
  readonly show: (value: number) => string;
}

const KB = 1_000;

/** Two bars for what a desktop costs all day, one for what a run costs its client. */
function measures(strategy: string): Measure[] {
  const both = (of: (price: Price) => number) => ({ idle: of, busy: ({ busy }: Cost) => of(busy) });
  return [
    { title: 'Requests', axis: 'requests an hour', ...both((p) => p.requests_per_hour), show: grouped },
    { title: 'Bytes', axis: 'kilobytes an hour', ...both((p) => p.bytes_per_hour / KB), show: grouped },
    { title: 'Wake-ups of the machine', axis: 'wake-ups an hour', ...both((p) => p.wakeups_per_hour), show: grouped },
    { title: 'Held open', axis: 'requests and sockets, mean', ...both((p) => p.held_mean), show: (v) => v.toFixed(2) },
    {
      title: 'Tool calls',
      axis: `calls a run (${strategy})`,
      idle: null,
      busy: ({ calls }) => calls,
      show: (v) => v.toFixed(1),
    },
    {
      title: 'Tokens',
      axis: `estimated tokens a run (${strategy})`,
      idle: null,
      busy: ({ tokens }) => tokens,
      show: grouped,
    },
  ];
}

function figureOf(
  result: CompareResult,
  given: { id: string; costs: readonly Cost[]; cells: readonly Cell[] },
): Figure {
  const { id, costs, cells } = given;
  const { workload, asking } = cells[0]!;
  const about = result.workloads.find(({ name }) => name === workload)!.about;
  const all = measures(asking[0]?.strategy ?? '').filter(({ busy }) => costs.every((cost) => busy(cost) !== null));
  return {
    id,
    title: 'What a mode costs',
    text: [
      `By the hour of one desktop: without any work, and while runs go on (${about}). Bytes are those of HTTP and WebSocket messages in both directions, without TCP and TLS.`,
    ],
    panels: all.map((measure) => panel(measure, costs)),
    legend: [
      `<li><svg viewBox="0 0 36 10" class="swatch" aria-hidden="true"><rect x="1" y="1" width="34" height="8" class="bar hollow s1"/></svg>without work</li>`,
      `<li><svg viewBox="0 0 36 10" class="swatch" aria-hidden="true"><rect x="1" y="1" width="34" height="8" class="bar s1"/></svg>while runs go on</li>`,
    ],
    table: tableOf(all, costs),
    source: result,
  };
}

const BAR = 11;
const HEADING = 15;
/** Right of the longest bar, for its number. */
const VALUE_SHARE = 1.22;

function panel({ title, axis, idle, busy, show }: Measure, costs: readonly Cost[]): Panel {
  const perMode = HEADING + (idle === null ? 1 : 2) * (BAR + 3) + 6;
  const label = `${title}: ${axis}, by mode. The numbers are in the table below.`;
  const frame = { label, height: costs.length * perMode, left: 14, top: 4 };
  const bars = costs.map((cost) => ({
    cost,
    values: [...(idle === null ? [] : [{ value: idle(cost.idle), kind: 'hollow ' }]), { value: busy(cost)!, kind: '' }],
  }));
  const greatest = Math.max(...bars.flatMap(({ values }) => values.map(({ value }) => value)));
  const scale = linear(greatest * VALUE_SHARE, across(frame), 4);
  const { to: top } = upwards(frame);
  const marks = bars.flatMap(({ cost, values }, index) => {
    const from = top + index * perMode;
    const name = text({ x: across(frame).from, y: from + HEADING - 4, class: 'name' }, cost.mode);
    const drawn = values.map(({ value, kind }, bar) => {
      const y = from + HEADING + bar * (BAR + 3);
      const width = Math.max(1, scale.at(value) - scale.at(0));
      const rect = { x: scale.at(0), y, width, height: BAR, class: `bar ${kind}s${cost.series}` };
      return element('rect', rect) + text({ x: scale.at(value) + 5, y: y + BAR - 1, class: 'value' }, show(value));
    });
    return [name, ...drawn];
  });
  const x = { scale, name: axis, tick: (value: number) => grouped(value) };
  return { title, svg: plot(frame, { x: { ...x, tick: greatest < 4 ? String : x.tick } }, marks) };
}

function tableOf(all: readonly Measure[], costs: readonly Cost[]): Table {
  const modes = costs.map(({ mode }) => mode);
  const rows = all.flatMap(({ axis, idle, busy, show }) => [
    ...(idle === null ? [] : [[`${axis}, without work`, ...costs.map((cost) => show(idle(cost.idle)))]]),
    [idle === null ? axis : `${axis}, while runs go on`, ...costs.map((cost) => show(busy(cost)!))],
  ]);
  return { head: ['', ...modes], rows };
}
