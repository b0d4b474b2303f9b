/**
 * What is said of the rounds: figures for a machine (JSON with a schema) and a table for a person.
 *
 * p50 and runs per second are medians of the rounds, with how far these lie apart; p99 is of all runs. A ratio is
 * taken within each round, where both sides had the same machine, and only then the median.
 */
import { quantile } from '../pickup/quantiles.ts';
import { PAYLOAD_BYTES, type Subject } from '../pickup/subject.ts';
import type { Machine } from './machine.ts';
import { AT_ONCE, type Measured, nameOf, type Round, type RoundPlan } from './rounds.ts';

export const SCHEMA = { name: 'graph-relay.bench.peers', version: 1 } as const;

/** A figure of each round: its median, and how far the rounds lie apart. */
export interface OverRounds {
  readonly median: number;
  readonly p25: number;
  readonly p75: number;
  readonly min: number;
  readonly max: number;
}

export interface Latency {
  readonly p50: OverRounds;
  readonly p99: number;
}

export interface SubjectReport {
  readonly name: string;
  readonly setting: string;
  readonly durable: boolean;
  readonly versions: Readonly<Record<string, string>>;
  readonly result_by: string;
  /** From the caller's call until it is told that the job was taken. */
  readonly ack_us: Latency;
  /** From the same call until the worker's process has the job. */
  readonly pickup_us: Latency;
  /** From the same call until the caller has the result. */
  readonly round_trip_us: Latency;
  readonly runs_per_s_alone: OverRounds;
  readonly runs_per_s_at_once: OverRounds;
  readonly pickup_to_floor: OverRounds;
}

/** One that could not be measured, or not to the end. */
export interface LeftOut {
  readonly name: string;
  readonly setting: string;
  readonly reason: string;
  /** Null when the reader can do nothing about it: it broke while it was measured. */
  readonly remedy: string | null;
}

export interface PeersReport {
  readonly schema: typeof SCHEMA;
  readonly measured_at: string;
  readonly commit: string | null;
  readonly machine: Machine;
  readonly seed: number;
  readonly rounds: number;
  readonly runs_per_round: number;
  readonly busy_ms: number;
  readonly at_once: number;
  readonly payload_bytes: number;
  readonly subjects: readonly SubjectReport[];
  readonly missing: readonly LeftOut[];
  readonly broken: readonly LeftOut[];
  /** Who was asked in which order, round by round. */
  readonly order: readonly (readonly string[])[];
}

export function reportOf(
  { measured, order }: { measured: readonly Measured[]; order: string[][] },
  about: {
    plan: RoundPlan;
    floor: Subject;
    missing: readonly LeftOut[];
    /** Those that did not even start. */
    broken: readonly LeftOut[];
    machine: Machine;
    commit: string | null;
    at: string;
  },
): PeersReport {
  const floor = measured.find(({ subject }) => subject === about.floor)?.rounds ?? [];
  const { rounds, runs, busyMs, seed } = about.plan;
  return {
    schema: SCHEMA,
    measured_at: about.at,
    commit: about.commit,
    machine: about.machine,
    seed,
    rounds,
    runs_per_round: runs,
    busy_ms: busyMs,
    at_once: AT_ONCE,
    payload_bytes: PAYLOAD_BYTES,
    subjects: measured.filter(({ broken }) => broken === null).map((each) => subjectReport(each, floor)),
    missing: about.missing,
    broken: [
      ...about.broken,
      ...measured.flatMap(({ subject: { name, setting }, broken }) =>
        broken === null ? [] : [{ name, setting, reason: broken, remedy: null }],
      ),
    ],
    order,
  };
}

function subjectReport({ subject, rounds }: Measured, floor: readonly Round[]): SubjectReport {
  const pickups = (round: Round) => round.pickups.map(({ pickupUs }) => pickupUs);
  const ratios = rounds.flatMap((round, index) => {
    const beside = floor[index];
    return beside === undefined ? [] : [quantile(pickups(round), 0.5) / quantile(pickups(beside), 0.5)];
  });
  return {
    name: subject.name,
    setting: subject.setting,
    durable: subject.durable,
    versions: subject.versions,
    result_by: subject.resultBy,
    ack_us: latency(rounds.map((round) => round.pickups.map(({ ackUs }) => ackUs))),
    pickup_us: latency(rounds.map(pickups)),
    round_trip_us: latency(rounds.map((round) => round.roundTripsUs)),
    runs_per_s_alone: overRounds(rounds.map(({ runsPerSecond }) => runsPerSecond.alone)),
    runs_per_s_at_once: overRounds(rounds.map(({ runsPerSecond }) => runsPerSecond.atOnce)),
    pickup_to_floor: overRounds(ratios, 100),
  };
}

function latency(rounds: readonly (readonly number[])[]): Latency {
  return {
    p50: overRounds(rounds.map((values) => quantile(values, 0.5))),
    p99: Math.round(quantile(rounds.flat(), 0.99)),
  };
}

/** `parts`: 100 keeps two digits behind the point. */
function overRounds(values: readonly number[], parts = 1): OverRounds {
  const at = (share: number) => Math.round(quantile(values, share) * parts) / parts;
  return { median: at(0.5), p25: at(0.25), p75: at(0.75), min: at(0), max: at(1) };
}

const COLUMNS = [
  'system (setting)',
  'durable',
  'pickup p50 µs',
  'p99',
  'round trip p50 µs',
  'p99',
  'runs/s, 1 at once',
  `${AT_ONCE} at once`,
  '÷ floor',
  'p25–p75',
];

export function linesOf(report: PeersReport): string[] {
  const rows = report.subjects.map((subject) => [
    nameOf(subject),
    subject.durable ? 'yes' : 'no',
    ...[subject.pickup_us, subject.round_trip_us].flatMap(({ p50, p99 }) => [String(p50.median), String(p99)]),
    String(subject.runs_per_s_alone.median),
    String(subject.runs_per_s_at_once.median),
    subject.pickup_to_floor.median.toFixed(2),
    `${subject.pickup_to_floor.p25.toFixed(2)}–${subject.pickup_to_floor.p75.toFixed(2)}`,
  ]);
  const { machine } = report;
  return [
    ...table([COLUMNS, ...rows]),
    '',
    `Medians of ${report.rounds} interleaved rounds, ${report.runs_per_round} runs each; p99 of all runs; ÷ floor: pickup p50 to the floor's in the same round, median and middle half of the rounds.`,
    `Durable: on disk before the caller is told that the job was taken. Payload ${report.payload_bytes} bytes, seed ${report.seed}.`,
    `${machine.cores} cores (${machine.cpu}), ${machine.kernel}, Node ${machine.node}, load before ${machine.load_before}, commit ${report.commit ?? 'unknown'}, ${report.measured_at}`,
    `Versions: ${versionsOf(report)}`,
    ...(machine.temporary_files_in_memory
      ? [
          'Temporary files are in memory here: "durable" costs nothing and means nothing. Set TMPDIR to a folder on disk.',
        ]
      : []),
    ...missingLines(report.missing),
    ...report.broken.map(({ name, setting, reason }) => `Broken: ${name} (${setting}): ${reason}`),
  ];
}

/** What is missing for the same reason is said once. */
function missingLines(missing: readonly LeftOut[]): string[] {
  const byReason = Map.groupBy(missing, ({ reason, remedy }) => `${reason}. To measure it: ${remedy}`);
  return [...byReason].map(([why, those]) => {
    const names = those.map(({ name, setting }) => `${name} (${setting})`);
    return `Not measured: ${names.join(', ')}: ${why}`;
  });
}

function versionsOf(report: PeersReport): string {
  const all = Object.assign({}, ...report.subjects.map(({ versions }) => versions)) as Record<string, string>;
  return Object.entries(all)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');
}

/** The first column to the left, figures to the right. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join('  '),
  );
}
