/** How long a run waits until it begins, as the share of runs that have begun after each time (ECDF). */
import type {
  BenchResult,
  Cell,
  CompareResult,
  LiveResult,
  PickupResult,
  PublishedResult,
} from '../../result-format.ts';
import { percentile, sorted } from '../../statistics.ts';
import { duration } from '../../text-table.ts';
import { runsOf } from '../../workloads/workload.ts';
import { type Figure, type Panel, seriesOf, type Table } from '../figure.ts';
import { across, curve, plot, swatch, tickMs, upwards } from '../frame.ts';
import { linear, logarithmic } from '../scale.ts';
import { capital, steps } from '../svg.ts';

interface Distribution {
  readonly name: string;
  readonly series: number;
  /** Milliseconds, ascending. */
  readonly sample: readonly number[];
  /** Not the sample, but its percentiles. */
  readonly isSummary?: boolean;
}

export function pickupFigures(results: readonly BenchResult[]): Figure[] {
  return results.flatMap((result, index) => {
    const found = distributionsIn(result);
    const distributions = found?.distributions.filter(({ sample }) => sample.length > 0) ?? [];
    if (found === null || distributions.length === 0) return [];
    return [figureOf({ ...found, distributions, id: `pickup-${index + 1}`, result })];
  });
}

interface Found {
  readonly title: string;
  readonly text: string;
  readonly distributions: readonly Distribution[];
}

function distributionsIn(result: BenchResult): Found | null {
  if (result.kind === 'compare') return inCompare(result);
  if (result.kind === 'published') return inPublished(result);
  if (result.kind === 'live') return inLive(result);
  return result.kind === 'pickup' ? inPickup(result) : null;
}

/** Runs that stand alone: in a fan-out most of the wait is for each other. */
function inCompare({ workloads, faults, cells, modes, conditions }: CompareResult): Found | null {
  const workload = workloads.find((each) => runsOf(each) === 1 && each.cancel === null && each.offline_s === 0);
  const fault = faults.find(({ name }) => name === 'none');
  if (workload === undefined || fault === undefined) return null;
  const own = cells.filter((cell) => cell.workload === workload.name && cell.fault === fault.name);
  const names = modes.map(({ name }) => name);
  const line = `Virtual time, production code on both sides, ${conditions.way_ms} ms one way, ${conditions.disk_ms} ms of disk.`;
  return {
    title: 'How long until a run begins',
    text: `${capital(workload.about)}: from the start call until its Graph begins on the desktop. ${line}`,
    distributions: own.map((cell) => ({
      name: cell.mode,
      series: seriesOf(cell.mode, names),
      sample: sorted(pickupsOf(cell)),
    })),
  };
}

function pickupsOf({ samples }: Cell): number[] {
  return (samples.pickup ?? []).filter((value) => value !== null);
}

function inPublished({ modes, pickup_percentiles_s }: PublishedResult): Found {
  const names = modes.map(({ name }) => name);
  return {
    title: 'How long until a run begins, as in the post',
    text: 'One run at a random moment, in virtual time: the percentiles of `published`.',
    distributions: pickup_percentiles_s.map((percentiles, index) => ({
      name: names[index]!,
      series: seriesOf(names[index]!, names),
      sample: percentiles.map((seconds) => seconds * 1_000),
      isSummary: true,
    })),
  };
}

function inLive({ cells, modes, workload }: LiveResult): Found {
  const names = modes.map(({ name }) => name);
  const first = (sample: readonly (number | null)[] | undefined) =>
    sorted((sample ?? []).filter((value) => value !== null));
  return {
    title: 'How long until a run begins, over real sockets',
    text: `${capital(workload.about)}: the first run of each round, real processes on a real disk.`,
    distributions: cells.map(({ mode, samples }) => ({
      name: mode,
      series: seriesOf(mode, names),
      sample: first(samples.real['first pickup']),
    })),
  };
}

function inPickup({ samples_us, mode }: PickupResult): Found {
  const inMs = (sample: readonly number[]) => sorted(sample.map((us) => us / 1_000));
  return {
    title: `How long until a run begins over loopback (${mode})`,
    text: 'Real processes and a real disk, beside a bare held answer of node:http in the same rounds.',
    distributions: [
      { name: 'floor: bare held answer', series: 3, sample: inMs(samples_us.floor) },
      { name: 'call → ticket, on disk', series: 2, sample: inMs(samples_us.ticket) },
      { name: 'call → desktop starts', series: 1, sample: inMs(samples_us.pickup) },
    ],
  };
}

function figureOf({ id, title, text, distributions, result }: Found & { id: string; result: BenchResult }): Figure {
  const medians = distributions.map(({ name, sample }) => `${name} ${duration(percentile(sample, 0.5))}`);
  return {
    id,
    title,
    text: [text, `Half of the runs have begun after: ${medians.join(', ')}.`],
    panels: [panel(distributions, 'log'), panel(distributions, 'linear')],
    legend: distributions.map(({ name, series }) => swatch(series, name)),
    table: tableOf(distributions),
    source: result,
  };
}

/** As many steps as a screen can show. */
const STEPS_MOST = 300;

function panel(distributions: readonly Distribution[], kind: 'log' | 'linear'): Panel {
  const title = kind === 'log' ? 'From milliseconds to seconds' : 'The same, on a linear axis';
  const label = `${title}: share of runs that have begun after a time, by mode. The numbers are in the table below.`;
  const frame = { label, height: 190, left: 44, top: 26 };
  const least = Math.min(...distributions.map(({ sample }) => sample[0]!));
  const greatest = Math.max(...distributions.map(({ sample }) => sample.at(-1)!));
  const x =
    kind === 'log'
      ? logarithmic({ from: Math.max(0.1, least), to: greatest }, across(frame))
      : linear(greatest, across(frame));
  const y = linear(100, upwards(frame), 5);
  const curves = distributions.map(({ sample, series }) => {
    const count = Math.min(sample.length, STEPS_MOST);
    const points = Array.from({ length: count }, (_, step) => {
      const share = (step + 1) / count;
      return [x.at(sample[Math.ceil(share * sample.length) - 1]!), y.at(100 * share)] as const;
    });
    return curve(steps([[x.at(sample[0]!), y.at(0)], ...points]), series);
  });
  const axes = {
    x: { scale: x, name: `time since the start call (${kind === 'log' ? 'logarithmic' : 'linear'})`, tick: tickMs },
    y: { scale: y, name: 'runs that have begun (%)', tick: String },
  };
  return { title, svg: plot(frame, axes, curves) };
}

const SHOWN = [0.05, 0.25, 0.5, 0.75, 0.95, 0.99] as const;

function tableOf(distributions: readonly Distribution[]): Table {
  return {
    head: ['mode', 'runs', ...SHOWN.map((p) => (p === 0.5 ? 'median' : `p${p * 100}`)), 'max'],
    rows: distributions.map(({ name, sample, isSummary }) => [
      name,
      isSummary ? 'percentiles' : String(sample.length),
      ...SHOWN.map((p) => duration(percentile(sample, p))),
      duration(sample.at(-1)!),
    ]),
  };
}
