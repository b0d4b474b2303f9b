/**
 * Do virtual and real time agree? Each real run has a virtual twin: the same draw, as far from its desktop's last tick.
 *
 * Owns the error that a difference may have, and the verdict. It has two parts. Chance: a run that just misses a tick has
 * a twin that just caught it, and the sample is as large as it is; so many standard errors of the difference, found by
 * drawing whole rounds with their twins again and again. Machine: what network, disk and our own code add here, where in
 * virtual time a processor is free and a line never waits. Pure; measures nothing.
 */
import type { Random } from '../../protocol/ports.ts';
import { ERRORS } from '../published/tolerance.ts';
import { namedRandom } from '../sim/seeded.ts';
import { deviationOf, meanOf, percentile, sorted } from '../statistics.ts';
import { runsOf, type Workload } from '../workloads/workload.ts';
import type { Figure, LiveCell } from './result.ts';

/** Resamples; 400 find a standard error to about 4 %. */
const RESAMPLES = 400;

/** A pickup, and the news of an end too, is at most two exchanges over the network and two writes that wait for each other. */
export const TRIPS = { exchanges: 2, appends: 2 } as const;

/** `own_ms`: a pickup on a machine without other load, at the median. */
export function machineError(found: Omit<LiveCell['machine'], 'total_ms'>): LiveCell['machine'] {
  const { exchange_p99_ms, append_p99_ms, own_ms } = found;
  const total_ms = TRIPS.exchanges * exchange_p99_ms + TRIPS.appends * append_p99_ms + own_ms;
  return { ...found, total_ms };
}

export const CALLS = 'calls: ';
export const COMPLETED = 'completed';
/** Of the first run of a round, which no other one keeps waiting. */
export const FIRST = 'first pickup';

type Kind = Pick<Figure, 'name' | 'statistic' | 'unit'>;

/** What is judged of each sample. */
function kindsOf(name: string): Kind[] {
  if (name === COMPLETED) return [{ name, statistic: 'mean', unit: 'share' }];
  if (name.startsWith(CALLS)) return [{ name, statistic: 'mean', unit: 'calls' }];
  const of = (statistic: Figure['statistic']): Kind => ({ name, statistic, unit: 'ms' });
  // Where runs stand in line, a median lies between two heaps and jumps from one to the other.
  return name === FIRST || name === 'delivery' ? [of('mean'), of('median'), of('p95')] : [of('mean'), of('p95')];
}

export interface JudgedCell extends Pick<LiveCell, 'mode' | 'rounds' | 'runs' | 'machine' | 'samples'> {}

/** Every figure that either side has. */
export function judge(cell: JudgedCell, { workload, seed }: { workload: Workload; seed: number }): Figure[] {
  const { samples, machine, mode } = cell;
  return Object.keys(samples.virtual).flatMap((name) => {
    const rounds = pairsOf(cell, name);
    if (rounds === null) return [];
    return kindsOf(name).map((kind) => {
      const random = namedRandom(seed, `${mode} ${name} ${kind.statistic}`);
      // Nothing but a cancel that meets an end leaves to chance how a run ends.
      const isSure = name === COMPLETED && workload.cancel === null;
      return figureOf(kind, {
        rounds,
        machine: machineIn(kind, { machine, workload }),
        random: isSure ? null : random,
      });
    });
  });
}

type Pair = readonly [virtual: number, real: number];

/** By round. Null when neither side has any; a run that only one side has makes its figures empty, and they fail. */
function pairsOf({ samples, runs, rounds }: JudgedCell, name: string): Pair[][] | null {
  const [virtual, real] = [samples.virtual[name] ?? [], samples.real[name] ?? []];
  if ([...virtual, ...real].every((value) => value === null)) return null;
  const perRound = runs / rounds;
  return Array.from({ length: rounds }, (_, round) =>
    virtual.slice(round * perRound, (round + 1) * perRound).flatMap((value, index): Pair[] => {
      const twin = real[round * perRound + index] ?? null;
      return value === null || twin === null ? [] : [[value, twin]];
    }),
  );
}

/**
 * A delay moves a time by itself, a count of calls by as many as fit into it, and an end not at all. One that stands in
 * line has the delays of all before it: half of the line on average, all of it at the far end.
 */
function machineIn(
  { name, unit, statistic }: Kind,
  given: { machine: LiveCell['machine']; workload: Workload },
): number {
  const { machine, workload } = given;
  if (unit === 'share') return 0;
  const isAlone = name === FIRST || name === 'delivery' || name === 'cancel';
  const inLine = isAlone ? 1 : Math.ceil(runsOf(workload) / workload.slots);
  const total_ms = machine.total_ms * (statistic === 'p95' ? inLine : (inLine + 1) / 2);
  if (unit === 'ms') return total_ms;
  const strategy = workload.asking.find((each) => CALLS + each.name === name);
  // Who does as it is told is told a second at least.
  const told = strategy === undefined || typeof strategy.pauses_s === 'string' ? [] : strategy.pauses_s;
  const pauses = told.filter((seconds) => seconds > 0);
  return total_ms / (1_000 * Math.min(1, ...pauses));
}

function figureOf(kind: Kind, given: { rounds: readonly Pair[][]; machine: number; random: Random | null }): Figure {
  const { rounds, machine, random } = given;
  const pairs = rounds.flat();
  if (pairs.length === 0) {
    const error = { chance: 0, machine, total: machine };
    return { ...kind, n: 0, virtual: null, real: null, error, verdict: 'FAIL' };
  }
  const [virtual, real] = sidesOf(pairs, kind);
  const chance = random === null ? 0 : ERRORS * standardError(kind, rounds, random);
  const total = chance + machine;
  const verdict = Math.abs(real - virtual) <= total ? 'PASS' : 'FAIL';
  return { ...kind, n: pairs.length, virtual, real, error: { chance, machine, total }, verdict };
}

function sidesOf(pairs: readonly Pair[], { statistic }: Kind): [virtual: number, real: number] {
  const of = (side: 0 | 1) =>
    statisticOf(
      pairs.map((pair) => pair[side]),
      statistic,
    );
  return [of(0), of(1)];
}

function statisticOf(values: readonly number[], statistic: Figure['statistic']): number {
  if (statistic === 'mean') return meanOf(values);
  return percentile(sorted(values), statistic === 'median' ? 0.5 : 0.95);
}

/** Of the difference between the two sides. Runs of a round share its luck, so rounds are drawn, with their twins. */
function standardError(kind: Kind, rounds: readonly Pair[][], random: Random): number {
  const differences: number[] = [];
  for (let resample = 0; resample < RESAMPLES; resample++) {
    const drawn = rounds.flatMap(() => rounds[Math.floor(random.next() * rounds.length)]!);
    if (drawn.length === 0) continue;
    const [virtual, real] = sidesOf(drawn, kind);
    differences.push(real - virtual);
  }
  return deviationOf(differences);
}

export function verdictOf(cells: readonly Pick<LiveCell, 'figures'>[]): 'PASS' | 'FAIL' {
  return cells.some(({ figures }) => figures.some(({ verdict }) => verdict === 'FAIL')) ? 'FAIL' : 'PASS';
}
