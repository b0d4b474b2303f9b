/**
 * What is said of the rounds: figures for a machine (JSON with a schema) and a table for a person.
 *
 * p50 and runs per second are medians of the rounds, with how far these lie apart; p99 is of all runs. A ratio is
 * taken within each round, where both sides had the same machine, and only then the median.
 */
import { systemClock } from '../../protocol/host/system-ports.ts';
import { PAYLOAD_BYTES, type Subject } from '../pickup/subject.ts';
import { provenance, surroundingsLines } from '../provenance.ts';
import { FORMAT, FORMAT_VERSION, type PeersResult, type Surroundings } from '../result-format.ts';
import { medianOf, percentile, sorted } from '../statistics.ts';
import { textTable } from '../text-table.ts';
import type { Latency, LeftOut, OverRounds, SubjectReport } from './result.ts';
import { AT_ONCE, type Measured, nameOf, type Round, type RoundPlan } from './rounds.ts';

export async function reportOf(
  { measured, order }: { measured: readonly Measured[]; order: string[][] },
  about: {
    plan: RoundPlan;
    floor: Subject;
    missing: readonly LeftOut[];
    /** Those that did not even start. */
    broken: readonly LeftOut[];
    surroundings: Surroundings;
    /** The command that measures the same again. */
    command: string;
    /** When it began. */
    began: { at: number; monotonic: number };
  },
): Promise<PeersResult> {
  const floor = measured.find(({ subject }) => subject === about.floor)?.rounds ?? [];
  const { rounds, runs, busyMs, seed } = about.plan;
  return {
    format: FORMAT,
    format_version: FORMAT_VERSION,
    kind: 'peers',
    command: about.command,
    seed,
    made: await provenance(),
    surroundings: about.surroundings,
    rounds,
    runs_per_round: runs,
    busy_ms: busyMs,
    at_once: AT_ONCE,
    payload_bytes: PAYLOAD_BYTES,
    subjects: measured.filter(({ broken }) => broken === null).map((each) => subjectReport(each, floor)),
    missing: [...about.missing],
    broken: [
      ...about.broken,
      ...measured.flatMap(({ subject: { name, setting }, broken }) =>
        broken === null ? [] : [{ name, setting, reason: broken, remedy: null }],
      ),
    ],
    order,
    wall_clock: {
      started_at: new Date(about.began.at).toISOString(),
      duration_ms: Math.round(systemClock.monotonic() - about.began.monotonic),
    },
  };
}

function subjectReport({ subject, rounds }: Measured, floor: readonly Round[]): SubjectReport {
  const pickups = (round: Round) => round.pickups.map(({ pickupUs }) => pickupUs);
  const ratios = rounds.flatMap((round, index) => {
    const beside = floor[index];
    return beside === undefined ? [] : [medianOf(pickups(round)) / medianOf(pickups(beside))];
  });
  return {
    name: subject.name,
    setting: subject.setting,
    durable: subject.durable,
    versions: { ...subject.versions },
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
    p50: overRounds(rounds.map(medianOf)),
    p99: Math.round(percentile(sorted(rounds.flat()), 0.99)),
  };
}

/** `parts`: 100 keeps two digits behind the point. */
function overRounds(values: readonly number[], parts = 1): OverRounds {
  const ascending = sorted(values);
  const at = (share: number) => Math.round(percentile(ascending, share) * parts) / parts;
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

export function linesOf(report: PeersResult): string[] {
  const rows = report.subjects.map((subject) => [
    nameOf(subject),
    subject.durable ? 'yes' : 'no',
    ...[subject.pickup_us, subject.round_trip_us].flatMap(({ p50, p99 }) => [String(p50.median), String(p99)]),
    String(subject.runs_per_s_alone.median),
    String(subject.runs_per_s_at_once.median),
    subject.pickup_to_floor.median.toFixed(2),
    `${subject.pickup_to_floor.p25.toFixed(2)}–${subject.pickup_to_floor.p75.toFixed(2)}`,
  ]);
  const { made, surroundings, wall_clock } = report;
  const { machine, commit, versions } = made;
  return [
    ...textTable([COLUMNS, ...rows]),
    '',
    `Medians of ${report.rounds} interleaved rounds, ${report.runs_per_round} runs each; p99 of all runs; ÷ floor: pickup p50 to the floor's in the same round, median and middle half of the rounds.`,
    `Durable: on disk before the caller is told that the job was taken. Payload ${report.payload_bytes} bytes, seed ${report.seed}.`,
    `${machine.cores} cores (${machine.cpu}), ${machine.platform} ${machine.kernel}, Node ${versions.node}, commit ${commit?.id ?? 'unknown'}${commit?.dirty ? ' with changes' : ''}, ${wall_clock.started_at}`,
    `Versions: ${versionsOf(report)}`,
    ...surroundingsLines(surroundings),
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

function versionsOf(report: PeersResult): string {
  const all = Object.assign({}, ...report.subjects.map(({ versions }) => versions)) as Record<string, string>;
  return Object.entries(all)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');
}
