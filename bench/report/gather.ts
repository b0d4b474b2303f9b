/**
 * The results that a report is made of: what files hold, or what is run for it.
 *
 * Owns how much is run: as little as its figures can be trusted with, in about a minute on two cores.
 */
import { availableParallelism } from 'node:os';
import { findFaults, findModes, findWorkloads } from '../catalogue.ts';
import { compareCommandLine } from '../compare/cli.ts';
import { compare } from '../compare/compare.ts';
import { readResult } from '../read-result.ts';
import type { BenchResult } from '../result-format.ts';
import { runBatch } from '../sim/run/batch.ts';
import { simResult } from '../sim-result.ts';
import type { Source } from './report.ts';

export function readSources(files: readonly string[]): Source[] {
  const given = { kinds: ['compare', 'published', 'live', 'pickup', 'sim'], purpose: 'drawn' } as const;
  return files.map((file) => ({ result: readResult(file, given) }));
}

export interface RunOptions {
  readonly seed: number;
  /** Of each mode in the figures of pickup and asking; the others follow. */
  readonly runs: number;
  readonly threads?: number | undefined;
}

/** Shares of all runs: a Gantt chart shows one round, and trouble is measured on the whole stack. */
const FANOUT_SHARE = 0.25;
const FAULT_SHARE = 0.5;
const SIM_SHARE = 0.25;

const FANOUTS = [
  'fanout-1',
  ...[3, 5].flatMap((count) => [`fanout-${count}`, ...[2, 5].map((slots) => `fanout-${count}-slots-${slots}`)]),
];

/** What `report` runs when it is given no files. */
export async function runSources({ seed, runs, threads }: RunOptions): Promise<Source[]> {
  const some = (share: number) => Math.max(1, Math.round(runs * share));
  const fixed = { seed, threads };
  const seeds = { seed, seeds: some(SIM_SHARE), path: 'direct', jobs: threads ?? availableParallelism() } as const;
  const [usual, trouble] = [['none'], ['loss', 'proxy-cut-15s', 'sleep']];
  const alone = await compared({
    ...fixed,
    runs,
    modes: ['plain-20s', 'long-poll', 'websocket', 'plain-5s'],
    workloads: ['pickup', 'client-polling'],
    faults: usual,
  });
  const modes = ['plain-20s', 'long-poll'];
  const atOnce = await compared({ ...fixed, runs: some(FANOUT_SHARE), modes, workloads: FANOUTS, faults: usual });
  const troubled = await compared({
    ...fixed,
    runs: some(FAULT_SHARE),
    modes: [...modes, 'websocket', 'auto'],
    workloads: ['pickup'],
    faults: trouble,
  });
  return [
    { result: alone, draws: ['pickup', 'asking', 'price'] },
    { result: atOnce, draws: ['fanout'] },
    { result: troubled, draws: ['faults'] },
    { result: await simResult(await runBatch(seeds)), draws: ['sim'] },
  ];
}

async function compared(given: {
  seed: number;
  runs: number;
  threads: number | undefined;
  modes: readonly string[];
  workloads: readonly string[];
  faults: readonly string[];
}): Promise<BenchResult> {
  const { modes, workloads, faults, ...rest } = given;
  return compare({
    ...rest,
    modes: await findModes(modes),
    workloads: await findWorkloads(workloads),
    faults: await findFaults(faults),
    command: compareCommandLine(given),
  });
}
