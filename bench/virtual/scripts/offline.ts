/** The experiment about a desktop that is away: what becomes of runs that are queued meanwhile. */
import { type Draw, drawMs } from '../../draws.ts';
import { namedRandom } from '../../sim/seeded.ts';
import { read, untilEnded } from '../ask.ts';
import type { BenchWorld } from '../bench-world.ts';
import { queue } from '../rounds.ts';
import { sleepFor } from '../sleep.ts';

export interface OfflineRound {
  /** What agents are told at the end of the absence. */
  readonly statuses: readonly string[];
  readonly executedWhileAway: number;
  /** After the desktop's network is back. */
  readonly firstStartMs: number;
  readonly allEndedMs: number;
  readonly executed: number;
  /** How they ended. */
  readonly ends: readonly string[];
}

const AWAY_MS = 600_000;
const RUNS = 5;
const GAP_MS = 5_000;
const GAP_SPREAD_MS = 60_000;

export async function stayOffline(
  world: BenchWorld,
  given: { rounds: number; seed: number; runTime: Draw },
): Promise<OfflineRound[]> {
  const rounds: OfflineRound[] = [];
  const play = async () => {
    for (let round = 0; round < given.rounds; round++) {
      rounds.push(await playRound(world, { ...given, round }));
    }
  };
  await world.clock.settle(play());
  return rounds;
}

async function playRound(
  world: BenchWorld,
  { seed, runTime, round }: { seed: number; runTime: Draw; round: number },
): Promise<OfflineRound> {
  const { clock, sky, runs } = world;
  const random = namedRandom(seed, `offline round ${round}`);
  await sleepFor(clock, GAP_MS + random.next() * GAP_SPREAD_MS);
  const back = sky.begin({ loseRequest: 1, loseAnswer: 1, silent: 0, sockets: 'refused' });
  const before = runs.times.size;
  const commands: string[] = [];
  for (let run = 0; run < RUNS; run++) {
    const order = { run_ms: drawMs(runTime, random) };
    commands.push(await queue(world, { key: `round-${round}-run-${run}`, order }));
  }
  await sleepFor(clock, AWAY_MS);
  const statuses = await Promise.all(commands.map(async (command) => (await read(world, command)).status));
  const executedWhileAway = runs.times.size - before;
  back();
  const backAt = clock.monotonic();
  const ends = await Promise.all(commands.map(async (command) => (await untilEnded(world, command)).status));
  const allEndedMs = clock.monotonic() - backAt;
  const started = commands.flatMap((command) => runs.times.get(command)?.startedAt ?? []);
  return {
    statuses: unique(statuses),
    executedWhileAway,
    firstStartMs: Math.min(...started) - backAt,
    allEndedMs,
    executed: started.length,
    ends: unique(ends),
  };
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)].sort();
}
