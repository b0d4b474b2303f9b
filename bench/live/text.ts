/** A live result for a terminal. */
import type { LiveResult } from '../result-format.ts';
import { duration, grouped, shown, textTable } from '../text-table.ts';
import { TRIPS } from './agreement.ts';
import type { Figure, HeldLevel, LayersFound, LiveCell } from './result.ts';

export function liveLines(result: LiveResult): string[] {
  const { cells, desktops, workload, seed, verdict, held, modes, load, wall_clock } = result;
  const figures = cells.flatMap((cell) => cell.figures);
  const failed = figures.filter((figure) => figure.verdict === 'FAIL').length;
  return [
    `${workload.name}: ${workload.about}. ${desktops} production desktops in each of ${modes.length} modes at once, over real sockets, seed ${seed}.`,
    `Other work on this machine: load ${load.before} before, ${load.after} after (${result.made.machine.cores} cores).`,
    '',
    ...floorLines(result),
    '',
    ...result.layers.flatMap((layers) => [...layerLines(layers), '']),
    ...agreementHead(result),
    '',
    ...cells.flatMap((cell) => [...cellLines(cell), '']),
    ...heldLines(held),
    '',
    `Virtual and real time ${failed === 0 ? 'agree' : 'do not agree'}: ${figures.length - failed} of ${figures.length} figures PASS${failed === 0 ? '' : `, ${failed} FAIL`}. Verdict: ${verdict}.`,
    `${(wall_clock.duration_ms / 1_000).toFixed(0)} s.`,
  ];
}

function floorLines({ floor }: LiveResult): string[] {
  const row = (name: string, of: 'exchange_ms' | 'append_ms') => {
    const [alone, beside] = [floor.alone[of], floor.beside[of]];
    return [name, ms(alone.median), ms(alone.p99), ms(beside.median), ms(beside.p99)];
  };
  return textTable([
    ['floor of this machine', 'alone p50', 'p99', 'beside all p50', 'p99'],
    row('  bare held answer of node:http', 'exchange_ms'),
    row(`  append of ${floor.append_bytes} bytes and fdatasync`, 'append_ms'),
  ]);
}

const STATION_NAMES: Readonly<Record<string, string>> = {
  called: 'start call of the agent',
  queued: 'in the queue, its write begun',
  written: 'held answer written',
  socket: "whole at the desktop's socket",
  loop: "in the desktop's loop",
  ack: 'ack at the relay',
  engine: 'engine starts (both disks have it)',
};

function layerLines({ mode, steps, pickup_ms, ticket_ms, ...ratios }: LayersFound): string[] {
  return [
    `wake-up over ${mode}, one at a time (n = ${pickup_ms.n})`,
    ...textTable([
      ['  until', 'p50', 'p99'],
      ...steps.map(({ to, ms: took }) => [`  ${STATION_NAMES[to] ?? to}`, ms(took.median), ms(took.p99)]),
      ['  pickup, all of it', ms(pickup_ms.median), ms(pickup_ms.p99)],
      ['  ticket, on disk', ms(ticket_ms.median), ms(ticket_ms.p99)],
    ]),
    `  pickup ÷ bare held answer: ${ratios.pickup_to_exchange.toFixed(1)}; ticket ÷ append: ${ratios.ticket_to_append.toFixed(1)}`,
  ];
}

function agreementHead({ conditions, standard_errors }: LiveResult): string[] {
  return [
    'Virtual against real. Each real run has a virtual twin of the same draw, as far from its last tick; the virtual line',
    `and disks are this machine's medians (${conditions.way_ms} ms a way, ${conditions.disk_ms} ms a write). They may differ by the error, which is`,
    `  chance   ${standard_errors} standard errors of the difference, by drawing whole rounds with their twins: the sample size`,
    `  machine  ${TRIPS.exchanges} bare exchanges and ${TRIPS.appends} appends at p99 beside all desktops, and a pickup of ours alone at p50:`,
    '           network, disk and code; in virtual time a processor is free and nothing queues. A run that stands in',
    '           line behind others has theirs too',
  ];
}

function cellLines({ mode, figures, runs, machine }: LiveCell): string[] {
  return [
    `${mode}   [n = ${runs}; machine ${ms(machine.total_ms)}]`,
    ...textTable([
      ['', 'virtual', 'real', 'difference', '± error', 'of it chance', ''],
      ...figures.map((figure) => [`  ${figure.name}, ${figure.statistic}`, ...valuesOf(figure), figure.verdict]),
    ]),
  ];
}

function valuesOf({ virtual, real, error, unit }: Figure): string[] {
  const value = (each: number) => (unit === 'ms' ? duration(each) : shown(each, 2));
  const errors = [value(error.total), value(error.chance)];
  if (virtual === null || real === null) return ['—', '—', '—', ...errors];
  return [value(virtual), value(real), value(real - virtual), ...errors];
}

function heldLines(held: readonly HeldLevel[]): string[] {
  const rows = held.flatMap(({ held: count, measured }) => {
    if (measured === null) return [];
    const { rss_bytes_per_held: rss, kept_bytes_per_held: kept, cpu_share, cpu_us_per_request: cpu } = measured;
    return [
      [
        `  ${grouped(count)}`,
        `${(measured.rss_bytes / 2 ** 20).toFixed(0)} MiB`,
        `${(rss / 1_024).toFixed(1)} KiB`,
        `${(kept / 1_024).toFixed(1)} KiB`,
        `${(100 * cpu_share).toFixed(1)} %`,
        cpu === null ? '—' : `${grouped(cpu)} µs`,
        grouped(measured.requests / measured.watched_s),
      ],
    ];
  });
  const heading = ['held requests', 'memory', 'each', 'kept each', 'of a core', 'processor a request', 'requests/s'];
  return [
    ...(rows.length === 0 ? [] : textTable([heading, ...rows])),
    ...held.flatMap(({ held: count, missing }) => (missing === null ? [] : [`  ${grouped(count)}: ${missing}.`])),
  ];
}

function ms(value: number): string {
  return `${value.toFixed(2)} ms`;
}
