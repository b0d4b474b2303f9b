/** Several runs in one moment as a Gantt chart: what each of them waits for, and for how long it runs. */
import type { Bar, BenchResult, Cell, CompareResult } from '../../result-format.ts';
import { percentile, sorted } from '../../statistics.ts';
import { runsOf, type Workload } from '../../workloads/workload.ts';
import { type Figure, type Panel, seriesOf, type Table } from '../figure.ts';
import { across, plot, upwards } from '../frame.ts';
import { linear, type Scale } from '../scale.ts';
import { element, text } from '../svg.ts';

export function fanoutFigures(results: readonly BenchResult[]): Figure[] {
  return results.flatMap((result, index) => {
    if (result.kind !== 'compare') return [];
    const workloads = result.workloads.filter(isFanout);
    return workloads.some((each) => runsOf(each) > 1)
      ? [figureOf(result, { workloads, id: `fanout-${index + 1}` })]
      : [];
  });
}

/** All of its runs are asked for in one moment. */
function isFanout({ starts, cancel, offline_s }: Workload): boolean {
  return starts.length === 1 && cancel === null && offline_s === 0;
}

function figureOf(result: CompareResult, { workloads, id }: { workloads: readonly Workload[]; id: string }): Figure {
  const fault = result.faults[0]!.name;
  const groups = workloads.map((workload) => ({
    workload,
    cells: result.cells.filter((cell) => cell.workload === workload.name && cell.fault === fault),
  }));
  return {
    id,
    title: 'Several runs asked for at once',
    text: [
      'One round of each, as it was played: the thin line is the wait, the bar is the run. A bar ends when its Graph has ended on the desktop.',
      'A held request saves the first wait, once. Runs that a desktop does one after another stay one after another; what ends that is more slots, which the owner grants (--slots).',
    ],
    panels: groups.map((group) => panel(group, { result, longest: longestOf(groups, runsOf(group.workload)) })),
    legend: [
      `<li><svg viewBox="0 0 36 10" class="swatch" aria-hidden="true"><line x1="1" y1="5" x2="35" y2="5" class="waiting"/></svg>waits</li>`,
      `<li><svg viewBox="0 0 36 10" class="swatch" aria-hidden="true"><rect x="1" y="1" width="34" height="8" class="bar s1"/></svg>runs</li>`,
    ],
    table: tableOf(groups),
    source: result,
  };
}

type Group = { readonly workload: Workload; readonly cells: readonly Cell[] };

/** What has equally many runs has one axis, so that slots can be compared by eye. */
function longestOf(groups: readonly Group[], count: number): number {
  const alike = groups.filter(({ workload }) => runsOf(workload) === count);
  return Math.max(
    ...alike.flatMap(({ cells }) => cells.flatMap((cell) => cell.first_round.map(({ known_s }) => known_s))),
  );
}

const ROW = 15;
const BAR = 9;
const HEADING = 18;

function panel({ workload, cells }: Group, { result, longest }: { result: CompareResult; longest: number }): Panel {
  const count = runsOf(workload);
  const { slots } = workload;
  const title = `${count} at once, ${slots} ${slots === 1 ? 'slot' : 'slots'}`;
  const frame = {
    label: `${title}: when each run of a round waited and ran, by mode. The numbers are in the table below.`,
    height: cells.length * (HEADING + count * ROW) + 4,
    left: 14,
    top: 4,
  };
  const scale = linear(longest, across(frame), 5);
  const { to: top } = upwards(frame);
  const names = result.modes.map(({ name }) => name);
  const marks = cells.flatMap((cell, index) => {
    const from = top + index * (HEADING + count * ROW);
    const heading = text({ x: across(frame).from, y: from + HEADING - 5, class: 'name' }, cell.mode);
    const series = seriesOf(cell.mode, names);
    const bars = cell.first_round.map((bar, run) => barOf(bar, { scale, series, y: from + HEADING + run * ROW }));
    return [heading, ...bars];
  });
  const x = { scale, name: 'time since the start calls (s)', tick: String };
  return { title, svg: plot(frame, { x }, marks) };
}

function barOf(bar: Bar, { scale, series, y }: { scale: Scale; series: number; y: number }): string {
  const { queued_s, started_s, ended_s, known_s } = bar;
  const middle = y + ROW / 2;
  const begin = started_s ?? known_s;
  const wait = { x1: scale.at(queued_s), y1: middle, x2: scale.at(begin), y2: middle, class: 'waiting' };
  const ran = scale.at(ended_s ?? known_s) - scale.at(begin);
  const rect = {
    x: scale.at(begin),
    y: middle - BAR / 2,
    width: Math.max(1, ran),
    height: BAR,
    class: `bar s${series}`,
  };
  return element('line', wait) + (started_s === null ? '' : element('rect', rect));
}

function tableOf(groups: readonly Group[]): Table {
  const rows = groups.flatMap(({ workload, cells }) =>
    cells.map((cell) => {
      const starts = cell.first_round.map(({ started_s, known_s }) => started_s ?? known_s);
      const ends = cell.first_round.map(({ known_s }) => known_s);
      return [
        `${runsOf(workload)} at once, ${workload.slots} ${workload.slots === 1 ? 'slot' : 'slots'}, ${cell.mode}`,
        seconds(Math.min(...starts), 3),
        seconds(Math.max(...ends), 1),
        String(cell.rounds),
        seconds(lastMedianS(cell), 1),
      ];
    }),
  );
  return { head: ['', 'drawn: first begins', 'drawn: last result', 'rounds', 'last result, median of all'], rows };
}

function seconds(value: number, digits: number): string {
  return `${value.toFixed(digits)} s`;
}

/** When the last result of a round is there: the middle of all rounds. */
function lastMedianS({ samples, rounds, runs }: Cell): number {
  const perRound = runs / rounds;
  const turnarounds = (samples.turnaround ?? []).map((value) => value ?? 0);
  const lasts = Array.from({ length: rounds }, (_, round) =>
    Math.max(...turnarounds.slice(round * perRound, (round + 1) * perRound)),
  );
  return percentile(sorted(lasts), 0.5) / 1_000;
}
