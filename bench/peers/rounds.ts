/**
 * Rounds over all subjects: each round asks every one of them, in an order drawn anew, so that what the machine does in
 * the meantime hits all alike, and nobody always follows the same neighbour.
 *
 * Knows subjects and samples, nothing of what is printed. A subject that breaks is left out from then on, with the reason.
 */

import { systemClock } from '../../protocol/host/system-ports.ts';
import type { Random } from '../../protocol/ports.ts';
import { type PickupSample, samplePickup, sampleRoundTrip, sampleThroughput } from '../pickup/phases.ts';
import type { Subject } from '../pickup/subject.ts';
import { namedRandom } from '../sim/seeded.ts';

/** How many runs are under way at once when it is asked how many a subject can do. */
export const AT_ONCE = 32;

/** What one round of one subject gave. */
export interface Round {
  readonly pickups: readonly PickupSample[];
  readonly roundTripsUs: readonly number[];
  readonly runsPerSecond: { readonly alone: number; readonly atOnce: number };
}

export interface Measured {
  readonly subject: Subject;
  readonly rounds: Round[];
  /** Why it was left out; null for one that answered to the end. */
  broken: string | null;
}

export interface RoundPlan {
  readonly rounds: number;
  /** Runs for pickup, and as many for the round trip, in each round. */
  readonly runs: number;
  readonly busyMs: number;
  readonly seed: number;
}

/** A subject that is silent for this long in one round is broken. The slowest takes a few seconds on a busy machine. */
const SILENT_MS = 120_000;

export async function measureRounds(
  subjects: readonly Subject[],
  plan: RoundPlan,
  watch: { signal: AbortSignal; onStep(step: { round: number; subject: Subject }): void },
): Promise<{ measured: Measured[]; order: string[][] }> {
  const random = namedRandom(plan.seed, 'order');
  const measured = subjects.map((subject): Measured => ({ subject, rounds: [], broken: null }));
  const order: string[][] = [];
  // Round 0 warms up and does not count.
  for (let round = 0; round <= plan.rounds; round++) {
    const asked: string[] = [];
    for (const each of shuffled(measured, random)) {
      if (each.broken !== null) continue;
      watch.onStep({ round, subject: each.subject });
      try {
        const result = await inTime(oneRound(each.subject, plan), watch.signal);
        asked.push(nameOf(each.subject));
        if (round > 0) each.rounds.push(result);
      } catch (error) {
        watch.signal.throwIfAborted();
        each.broken = (error as Error).message;
        // What it still does would be measured with the others.
        await each.subject.stop();
      }
    }
    if (round > 0) order.push(asked);
  }
  return { measured, order };
}

export function nameOf({ name, setting }: Pick<Subject, 'name' | 'setting'>): string {
  return `${name} (${setting})`;
}

async function oneRound(subject: Subject, { runs, busyMs }: RoundPlan): Promise<Round> {
  const pickups: PickupSample[] = [];
  for (let run = 0; run < runs; run++) pickups.push(await samplePickup(subject));
  const roundTripsUs: number[] = [];
  for (let run = 0; run < runs; run++) roundTripsUs.push(await sampleRoundTrip(subject));
  const alone = await sampleThroughput(subject, 1, busyMs);
  const atOnce = await sampleThroughput(subject, AT_ONCE, busyMs);
  return { pickups, roundTripsUs, runsPerSecond: { alone, atOnce } };
}

async function inTime<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const other = Promise.withResolvers<never>();
  const stop = () => other.reject(signal.reason);
  const late = systemClock.after(SILENT_MS, () => other.reject(new Error(`It was silent for ${SILENT_MS / 1_000} s.`)));
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop);
  try {
    return await Promise.race([work, other.promise]);
  } finally {
    late.cancel();
    signal.removeEventListener('abort', stop);
  }
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  const left = [...items];
  const drawn: Item[] = [];
  while (left.length > 0) drawn.push(...left.splice(Math.floor(random.next() * left.length), 1));
  return drawn;
}
