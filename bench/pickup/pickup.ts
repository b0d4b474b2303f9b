/**
 * How long until a waiting desktop starts a run, against the floor of the same machine in the same minute.
 *
 * Rounds of both are interleaved, in an order that is drawn, since such machines change their speed from minute to
 * minute: only the ratio means something.
 */
import type { ModeName } from '../../desktop-agent/modes.ts';
import { systemClock } from '../../protocol/host/system-ports.ts';
import { createProgress } from '../progress.ts';
import { provenance, surroundings } from '../provenance.ts';
import { FORMAT, FORMAT_VERSION, type PickupResult } from '../result-format.ts';
import { namedRandom } from '../sim/seeded.ts';
import { roundedSummary, type Summary, summarize } from '../statistics.ts';
import { startFloor } from './floor.ts';
import { samplePickup } from './phases.ts';
import { startRelay } from './relay.ts';
import type { Subject } from './subject.ts';

export interface PickupOptions {
  readonly rounds: number;
  readonly runsPerRound: number;
  readonly mode: ModeName;
  /** Draws who goes first in each round. */
  readonly seed: number;
  /** The command that measures the same again. */
  readonly command: string;
}

type Samples = PickupResult['samples_us'];

export async function measurePickup(options: PickupOptions): Promise<PickupResult> {
  const { rounds, runsPerRound, mode, seed, command } = options;
  const [started, startedAt, around] = [systemClock.now(), systemClock.monotonic(), await surroundings()];
  const floor = await startFloor();
  try {
    const relay = await startRelay(mode, 1);
    const samples = await measureRounds({ floor, relay }, options).finally(() => relay.stop());
    const [floorUs, pickupUs] = [summaryOf(samples.floor), summaryOf(samples.pickup)];
    return {
      format: FORMAT,
      format_version: FORMAT_VERSION,
      kind: 'pickup',
      command,
      seed,
      made: await provenance(),
      surroundings: around,
      mode,
      rounds,
      runs_per_round: runsPerRound,
      floor_us: floorUs,
      ticket_us: summaryOf(samples.ticket),
      pickup_us: pickupUs,
      pickup_to_floor: Math.round((pickupUs.median / floorUs.median) * 100) / 100,
      samples_us: samples,
      wall_clock: {
        started_at: new Date(started).toISOString(),
        duration_ms: Math.round(systemClock.monotonic() - startedAt),
      },
    };
  } finally {
    await floor.stop();
  }
}

async function measureRounds(
  { floor, relay }: { floor: Subject; relay: Subject },
  { rounds, runsPerRound, seed }: PickupOptions,
): Promise<Samples> {
  const samples: Samples = { floor: [], ticket: [], pickup: [] };
  const random = namedRandom(seed, 'order');
  const progress = createProgress('pickup', rounds + 1);
  try {
    for (let round = 0; round <= rounds; round++) {
      const subjects = random.next() < 0.5 ? [floor, relay] : [relay, floor];
      for (const subject of subjects) {
        for (let run = 0; run < runsPerRound; run++) {
          const { pickupUs, ackUs } = await samplePickup(subject);
          // The first round of each warms up and does not count.
          if (round === 0) continue;
          if (subject === relay) samples.ticket.push(Math.round(ackUs));
          samples[subject === relay ? 'pickup' : 'floor'].push(Math.round(pickupUs));
        }
      }
      progress.done(round + 1);
    }
  } finally {
    progress.end();
  }
  return samples;
}

function summaryOf(sample: readonly number[]): Summary {
  return roundedSummary(summarize(sample)!, 0);
}
