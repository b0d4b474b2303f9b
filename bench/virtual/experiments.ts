/**
 * The pieces of work that a thread of the bench does, by name: rounds of a workload, an idle desktop, and the
 * experiments of the post that are no rounds. Data in, data out.
 *
 * Owns nothing that outlives a piece of work: each builds a world of its own.
 */
import { PUBLISHED_RUN_TIME } from '../draws.ts';
import type { Fault } from '../faults/fault.ts';
import none from '../faults/none.ts';
import type { BenchMode } from '../modes/mode.ts';
import { namedRandom } from '../sim/seeded.ts';
import { drawnAs, type Workload } from '../workloads/workload.ts';
import { createBenchWorld } from './bench-world.ts';
import type { Price } from './meter.ts';
import { playRounds, type RunRecord } from './rounds.ts';
import { loseReplies, readAsStranger } from './scripts/agents.ts';
import { findResultBound, loseCompletion } from './scripts/completions.ts';
import { stayOffline } from './scripts/offline.ts';

export interface RoundsJob {
  readonly seed: number;
  readonly mode: BenchMode;
  readonly workload: Workload;
  readonly fault: Fault;
  readonly firstRound: number;
  readonly rounds: number;
  readonly metered: boolean;
  readonly weighsAnswers: boolean;
  /** Another disk than the usual one. */
  readonly diskMs?: number;
}

async function rounds(job: RoundsJob): Promise<{ records: RunRecord[]; price: Price }> {
  const { seed, mode, workload, fault, firstRound, metered, weighsAnswers, diskMs } = job;
  // Equal for all modes, so that what is drawn for the line's weather comes from the same stream in each.
  const worldSeed = seedOf(seed, `${drawnAs(workload)} ${fault.name} ${firstRound}`);
  const world = await createBenchWorld({
    seed: worldSeed,
    mode,
    fault,
    metered,
    weighsAnswers,
    diskMs,
    slots: workload.slots,
    stopMs: workload.stop_s * 1_000,
  });
  const records = await playRounds(world, { workload, seed, firstRound, rounds: job.rounds });
  return { records, price: world.meter.price() };
}

export interface IdleJob {
  readonly seed: number;
  readonly mode: BenchMode;
  readonly fault: Fault;
  readonly hours: number;
}

async function idle({ seed, mode, fault, hours }: IdleJob): Promise<Price> {
  const worldSeed = seedOf(seed, `idle ${fault.name}`);
  const given = { seed: worldSeed, mode, fault, slots: 1, stopMs: 0, metered: true, weighsAnswers: false };
  const world = await createBenchWorld(given);
  world.meter.on();
  await world.clock.advance(hours * 3_600_000);
  world.meter.off();
  return world.meter.price();
}

export interface ScriptJob {
  readonly seed: number;
  readonly mode: BenchMode;
}

function worldOf({ seed, mode }: ScriptJob, name: string) {
  return { seed: seedOf(seed, name), mode, fault: none, slots: 1, stopMs: 500, metered: false, weighsAnswers: false };
}

/** Every kind of work. Each takes plain data and resolves with plain data. */
export const EXPERIMENTS = {
  rounds,
  idle,
  offline: async (job: ScriptJob & { rounds: number; part: number }) =>
    stayOffline(await createBenchWorld(worldOf(job, `offline ${job.part}`)), {
      rounds: job.rounds,
      seed: seedOf(job.seed, `offline rounds ${job.part}`),
      runTime: PUBLISHED_RUN_TIME,
    }),
  'lost-replies': (job: ScriptJob & { repetition: number; newKeys: boolean; runs: number; loss: number }) =>
    loseReplies(worldOf(job, `lost replies ${job.repetition} ${job.newKeys}`), job),
  'lost-completion': (job: ScriptJob & { outbox: boolean }) => loseCompletion(worldOf(job, 'lost completion'), job),
  'result-bound': async (job: ScriptJob & { character: string }) =>
    findResultBound(await createBenchWorld(worldOf(job, 'result bound')), job.character),
  stranger: async (job: ScriptJob) => readAsStranger(await createBenchWorld(worldOf(job, 'stranger'))),
} as const;

export type ExperimentName = keyof typeof EXPERIMENTS;
export type GivenOf<N extends ExperimentName> = Parameters<(typeof EXPERIMENTS)[N]>[0];
export type ResultOf<N extends ExperimentName> = Awaited<ReturnType<(typeof EXPERIMENTS)[N]>>;

/** A seed of its own for each name. */
export function seedOf(seed: number, name: string): number {
  return Math.floor(namedRandom(seed, name).next() * 2 ** 32);
}
