/**
 * Many seeds, spread over worker threads, and what they came to together.
 *
 * Owns the order of seeds and the sums. Nothing here is part of a world: the wall clock is only for the report.
 */
import { Worker } from 'node:worker_threads';
import { siblingModule } from '../../../protocol/host/sibling-module.ts';
import { systemClock } from '../../../protocol/host/system-ports.ts';
import type { PathName } from '../paths/path.ts';
import { runSeed, type SeedResult } from './run-seed.ts';
import { storyOf } from './story.ts';

export interface BatchOptions {
  /** The first seed. */
  readonly seed: number;
  readonly seeds: number;
  readonly path: PathName;
  readonly jobs: number;
}

export interface FailedSeed {
  readonly seed: number;
  readonly replay: string;
  readonly violations: readonly FailedRule[];
}

export interface FailedRule {
  readonly rule: string;
  readonly text: string;
  readonly commandId: string | null;
  readonly story: readonly string[];
}

export interface BatchReport {
  readonly seeds: number;
  readonly first_seed: number;
  readonly path: PathName;
  readonly jobs: number;
  readonly passed: number;
  readonly failed: readonly FailedSeed[];
  readonly runs: number;
  readonly events: number;
  readonly virtual_minutes: number;
  readonly faults: Readonly<Record<string, number>>;
  /** Commands by how they ended. */
  readonly ends: Readonly<Record<string, number>>;
  /** Seeds in which some agent was told this status of a run, also if not as the last word. */
  readonly seeds_with: Readonly<Record<string, number>>;
  readonly wall_ms: number;
  readonly seeds_per_s: number;
  readonly runs_per_s: number;
}

/** What one worker has found. Plain data, since it crosses threads. */
export interface Part {
  seeds: number;
  failed: FailedSeed[];
  runs: number;
  events: number;
  virtualMs: number;
  faults: Record<string, number>;
  ends: Record<string, number>;
  seedsWith: Record<string, number>;
}

/** Stories of so many broken rules of a seed are told; the rest is only named. */
const STORIES = 2;

export async function runBatch(options: BatchOptions): Promise<BatchReport> {
  const startedAt = systemClock.monotonic();
  const jobs = Math.min(options.jobs, options.seeds);
  const whole = (await inWorkers({ ...options, jobs })).reduce(joined);
  const wallMs = systemClock.monotonic() - startedAt;
  return {
    seeds: whole.seeds,
    first_seed: options.seed,
    path: options.path,
    jobs,
    passed: whole.seeds - whole.failed.length,
    failed: whole.failed.sort((a, b) => a.seed - b.seed),
    runs: whole.runs,
    events: whole.events,
    virtual_minutes: Math.round(whole.virtualMs / 60_000),
    faults: byName(whole.faults),
    ends: byName(whole.ends),
    seeds_with: byName(whole.seedsWith),
    wall_ms: Math.round(wallMs),
    seeds_per_s: rate(whole.seeds, wallMs),
    runs_per_s: rate(whole.runs, wallMs),
  };
}

/** Every `step`-th seed from `seed` on, `seeds` in all. */
export async function runPart(given: { seed: number; seeds: number; path: PathName; step: number }): Promise<Part> {
  const part: Part = { seeds: 0, failed: [], runs: 0, events: 0, virtualMs: 0, faults: {}, ends: {}, seedsWith: {} };
  for (let index = 0; index < given.seeds; index++) {
    const seed = { seed: given.seed + index * given.step, path: given.path };
    const result = await runSeed({ ...seed, traced: false }).catch((cause) => {
      throw new Error(`seed ${seed.seed} could not be run: ${cause.message}`, { cause });
    });
    part.seeds++;
    part.runs += result.runs;
    part.events += result.events;
    part.virtualMs += result.virtualMs;
    addCounts(part.faults, Object.fromEntries(result.faults));
    for (const status of result.ends) addCounts(part.ends, { [status]: 1 });
    for (const status of result.seen) addCounts(part.seedsWith, { [status]: 1 });
    // A second time, for the story: the same seed is the same world.
    if (result.violations.length > 0) part.failed.push(failedSeed(await runSeed(seed)));
  }
  return part;
}

export function failedSeed({ seed, path, violations, history }: SeedResult): FailedSeed {
  const replay = `npm run sim -- --seed ${seed} --seeds 1${path === 'full' ? ' --path full' : ''}`;
  const told = violations.map((violation, index) => {
    const { rule, text, commandId } = violation;
    return { rule, text, commandId, story: index < STORIES ? storyOf(history, violation) : [] };
  });
  return { seed, replay, violations: told };
}

/** Seeds are dealt out in turns: long ones are then not all in one worker. */
function inWorkers({ seed, seeds, path, jobs }: BatchOptions): Promise<Part[]> {
  const workers = Array.from({ length: jobs }, (_, index) => {
    const count = Math.ceil((seeds - index) / jobs);
    const given = { seed: seed + index, seeds: count, path, step: jobs };
    return new Promise<Part>((resolve, reject) => {
      const worker = new Worker(siblingModule('./worker', import.meta.url), { workerData: given });
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', (code) => reject(new Error(`a worker of the simulation ended with code ${code}`)));
    });
  });
  return Promise.all(workers);
}

function joined(a: Part, b: Part): Part {
  return {
    seeds: a.seeds + b.seeds,
    failed: [...a.failed, ...b.failed],
    runs: a.runs + b.runs,
    events: a.events + b.events,
    virtualMs: a.virtualMs + b.virtualMs,
    faults: summed(a.faults, b.faults),
    ends: summed(a.ends, b.ends),
    seedsWith: summed(a.seedsWith, b.seedsWith),
  };
}

function summed(a: Record<string, number>, b: Record<string, number>): Record<string, number> {
  const sum = { ...a };
  addCounts(sum, b);
  return sum;
}

function byName(counts: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function addCounts(into: Record<string, number>, counts: Record<string, number>): void {
  for (const [name, count] of Object.entries(counts)) into[name] = (into[name] ?? 0) + count;
}

function rate(count: number, ms: number): number {
  return Math.round((count * 10_000) / ms) / 10;
}
