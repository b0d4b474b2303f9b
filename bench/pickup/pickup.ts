/**
 * How long until a waiting desktop starts a run, against the floor of the same machine in the same minute.
 *
 * Rounds of both are interleaved, since such machines change their speed from minute to minute: only the ratio means
 * something.
 */
import type { ModeName } from '../../desktop-agent/modes.ts';
import { startFloor } from './floor.ts';
import { samplePickup } from './phases.ts';
import { type Quantiles, quantiles } from './quantiles.ts';
import { startRelay } from './relay.ts';

export interface PickupReport {
  readonly rounds: number;
  readonly runs_per_round: number;
  readonly floor_us: Quantiles;
  /** From the call of run_graph_session until the desktop's engine is told to start. */
  readonly pickup_us: Quantiles;
  /** From the call until the ticket, which is on disk, is there. */
  readonly ticket_us: Quantiles;
  readonly pickup_to_floor: number;
  readonly node: string;
}

export async function measurePickup(options: {
  rounds: number;
  runsPerRound: number;
  mode: ModeName;
}): Promise<PickupReport> {
  const floor = await startFloor();
  const relay = await startRelay(options.mode, 1);
  const samples = { floor: [] as number[], pickup: [] as number[], ticket: [] as number[] };
  try {
    for (let round = -1; round < options.rounds; round++) {
      // The first round of each warms up and does not count.
      const counts = round >= 0;
      for (let run = 0; run < options.runsPerRound; run++) {
        const { pickupUs } = await samplePickup(floor);
        if (counts) samples.floor.push(pickupUs);
      }
      for (let run = 0; run < options.runsPerRound; run++) {
        const { pickupUs, ackUs } = await samplePickup(relay);
        if (counts) samples.pickup.push(pickupUs);
        if (counts) samples.ticket.push(ackUs);
      }
    }
  } finally {
    await floor.stop();
    await relay.stop();
  }
  const floorUs = quantiles(samples.floor);
  const pickupUs = quantiles(samples.pickup);
  return {
    rounds: options.rounds,
    runs_per_round: options.runsPerRound,
    floor_us: floorUs,
    pickup_us: pickupUs,
    ticket_us: quantiles(samples.ticket),
    pickup_to_floor: Math.round((pickupUs.p50 / floorUs.p50) * 100) / 100,
    node: process.version,
  };
}
