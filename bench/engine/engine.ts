/**
 * What the engine costs: how soon a Graph's first statement runs, with a warm and a cold sandbox, alone and through relay
 * and desktop; and what a run takes in memory.
 *
 * Owns which processes measure what. Warm and cold take turns, in an order that is drawn.
 */

import { siblingModule } from '../../protocol/host/sibling-module.ts';
import { systemClock } from '../../protocol/host/system-ports.ts';
import { samplePickup } from '../pickup/phases.ts';
import { startRelay } from '../pickup/relay.ts';
import type { Subject } from '../pickup/subject.ts';
import { startWorker } from '../pickup/worker.ts';
import { createProgress } from '../progress.ts';
import { provenance, surroundings } from '../provenance.ts';
import { type EngineResult, FORMAT, FORMAT_VERSION } from '../result-format.ts';
import { namedRandom } from '../sim/seeded.ts';
import { roundedSummary, type Summary, summarize } from '../statistics.ts';
import type { FiguresTask } from './figures-process.ts';
import type { EngineFigures } from './result.ts';

export interface EngineBenchOptions {
  /** Starts of each kind, alone and through the relay. */
  readonly runs: number;
  /** Runs one after another, between two looks at memory. */
  readonly row: number;
  /** Draws who goes first in each round. */
  readonly seed: number;
  /** The command that measures the same again. */
  readonly command: string;
}

type Starts = EngineFigures['start_us'];

export async function measureEngine(options: EngineBenchOptions): Promise<EngineResult> {
  const { runs, row: rowRuns, seed, command } = options;
  const [started, startedAt, around] = [systemClock.now(), systemClock.monotonic(), await surroundings()];
  const { start_us, memory_mib, row, beside_ms } = await figuresOf({ runs, row: rowRuns, seed });
  const queued = await measureQueued(options);
  return {
    format: FORMAT,
    format_version: FORMAT_VERSION,
    kind: 'engine',
    command,
    seed,
    made: await provenance(),
    surroundings: around,
    runs,
    start_ms: summariesOf(start_us),
    queued_ms: summariesOf(queued),
    samples_us: { start: start_us, queued },
    memory_mib,
    row,
    beside_ms,
    wall_clock: {
      started_at: new Date(started).toISOString(),
      duration_ms: Math.round(systemClock.monotonic() - startedAt),
    },
  };
}

/** In a process of its own, so that no memory but the engine's is in the figures. */
async function figuresOf(task: FiguresTask): Promise<EngineFigures> {
  const module = siblingModule('./figures-process', import.meta.url);
  const worker = await startWorker<EngineFigures>('engine', module, [JSON.stringify(task)]);
  await worker.stop();
  return worker.ready;
}

async function measureQueued({ runs, seed }: EngineBenchOptions): Promise<Starts> {
  const subjects: Partial<Record<keyof Starts, Subject>> = {};
  const samples: Starts = { warm: [], cold: [] };
  const random = namedRandom(seed, 'order');
  const progress = createProgress('engine', runs + 1);
  try {
    for (const kind of ['warm', 'cold'] as const) subjects[kind] = await startRelay('long-poll', 1, kind);
    for (let run = 0; run <= runs; run += 1) {
      const order = random.next() < 0.5 ? (['warm', 'cold'] as const) : (['cold', 'warm'] as const);
      for (const kind of order) {
        const { pickupUs } = await samplePickup(subjects[kind]!);
        // The first of each warms up and does not count.
        if (run > 0) samples[kind].push(Math.round(pickupUs));
      }
      progress.done(run + 1);
    }
  } finally {
    progress.end();
    for (const subject of Object.values(subjects)) await subject.stop();
  }
  return samples;
}

function summariesOf({ warm, cold }: Starts): EngineResult['start_ms'] {
  return { warm: inMs(warm), cold: inMs(cold) };
}

function inMs(us: readonly number[]): Summary {
  return roundedSummary(summarize(us.map((each) => each / 1_000))!, 2);
}
