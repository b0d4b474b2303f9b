/**
 * Plays rounds of a workload in a world and writes down what became of each run.
 *
 * Owns what is drawn for a round, so that the same round of the same seed asks for the same in each mode.
 */
import type { Random } from '../../protocol/ports.ts';
import type { RunTicket } from '../../server/agent-api.ts';
import { drawMs } from '../draws.ts';
import { namedRandom } from '../sim/seeded.ts';
import { drawnAs, type Workload } from '../workloads/workload.ts';
import { type Asked, ask, hasEnded, untilEnded } from './ask.ts';
import type { RunOrder } from './bench-engine.ts';
import type { BenchWorld } from './bench-world.ts';
import { sleepFor } from './sleep.ts';

/** One run, in milliseconds of virtual time. */
export interface RunRecord {
  readonly round: number;
  /** Its place within the round. */
  readonly index: number;
  /** How it ended, as its agent is told. */
  readonly status: string;
  readonly queuedAt: number;
  /** Null: the desktop never began it. */
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** When the relay had the end. */
  readonly knownAt: number;
  readonly cancel: CancelRecord | null;
  /** In the order of the workload's ways of asking. */
  readonly asked: readonly Asked[];
}

export interface CancelRecord {
  readonly askedAt: number;
  /** What the run was when its cancel was asked for: `ended`, when it was too late. */
  readonly found: 'queued' | 'running' | 'ended';
}

/**
 * Between two rounds, at least this and up to {@link GAP_SPREAD_MS} more. The spread is a multiple of the usual ticks,
 * so that a round begins at any moment of a tick with the same chance.
 */
const GAP_MS = 5_000;
const GAP_SPREAD_MS = 60_000;

export interface RoundsGiven {
  readonly workload: Workload;
  readonly seed: number;
  readonly firstRound: number;
  readonly rounds: number;
}

export async function playRounds(world: BenchWorld, given: RoundsGiven): Promise<RunRecord[]> {
  const records: RunRecord[] = [];
  const play = async () => {
    for (let index = 0; index < given.rounds; index++) {
      const round = given.firstRound + index;
      const drawn = drawRound(given, round);
      await sleepFor(world.clock, drawn.gapMs);
      world.meter.on();
      records.push(...(await playRound(world, { ...given, round, planned: drawn.runs })));
      world.meter.off();
      // Nobody reads them here, and they are many.
      world.history.facts.length = 0;
    }
  };
  await world.clock.settle(play());
  return records;
}

export interface PlannedRun {
  /** After the round's beginning. */
  readonly atMs: number;
  readonly order: RunOrder;
  readonly cancelAfterMs: number | null;
}

/** What a round is, wherever it is played: the pause before it, and its runs in the order of their starts. */
export function drawRound(
  { workload, seed }: { workload: Workload; seed: number },
  round: number,
): { gapMs: number; runs: PlannedRun[] } {
  const random = namedRandom(seed, `${drawnAs(workload)} round ${round}`);
  const gapMs = GAP_MS + random.next() * GAP_SPREAD_MS;
  return { gapMs, runs: plan(workload, random) };
}

function plan({ starts, run_s, cancel }: Workload, random: Random): PlannedRun[] {
  const runs = starts.flatMap(({ at_s, count }) => {
    const atMs = drawMs(at_s, random);
    return Array.from({ length: count }, () => {
      const runMs = drawMs(run_s, random);
      const isCancelled = random.next() < (cancel?.share ?? 0);
      const afterMs = drawMs(cancel?.after_s ?? 0, random);
      return { atMs, order: { run_ms: runMs }, cancelAfterMs: isCancelled ? afterMs : null };
    });
  });
  return runs.sort((a, b) => a.atMs - b.atMs);
}

async function playRound(
  world: BenchWorld,
  given: { workload: Workload; round: number; planned: readonly PlannedRun[] },
): Promise<RunRecord[]> {
  const { workload, round, planned } = given;
  const { offline_s } = workload;
  if (offline_s > 0) {
    const online = world.sky.begin({ loseRequest: 1, loseAnswer: 1, silent: 0, sockets: 'refused' });
    world.clock.after(offline_s * 1_000, online);
  }
  const start = world.clock.monotonic();
  const playing = planned.map(async (run, index) => {
    await sleepFor(world.clock, start + run.atMs - world.clock.monotonic());
    return playRun(world, { run, round, index, workload });
  });
  return Promise.all(playing);
}

async function playRun(
  world: BenchWorld,
  given: { run: PlannedRun; round: number; index: number; workload: Workload },
): Promise<RunRecord> {
  const { run, round, index, workload } = given;
  const { clock } = world;
  const queuedAt = clock.monotonic();
  const ticket = await ticketFor(world, { key: `round-${round}-run-${index}`, order: run.order });
  const commandId = ticket.command_id;
  const cancelling = run.cancelAfterMs === null ? null : cancelLater(world, commandId, queuedAt + run.cancelAfterMs);
  const asking = workload.asking.map((strategy) => ask(world, ticket, strategy));
  const { status } = await untilEnded(world, commandId);
  const knownAt = clock.monotonic();
  const asked = await Promise.all(asking);
  const cancel = await cancelling;
  const times = world.runs.times.get(commandId);
  const [startedAt, endedAt] = [times?.startedAt ?? null, times?.endedAt ?? null];
  return { round, index, status, queuedAt, startedAt, endedAt, knownAt, cancel, asked };
}

/** Starts a run, and resolves with its command when the ticket is there. */
export async function queue(world: BenchWorld, run: { key: string; order: RunOrder }): Promise<string> {
  return (await ticketFor(world, run)).command_id;
}

function ticketFor(world: BenchWorld, { key, order }: { key: string; order: RunOrder }): Promise<RunTicket> {
  const request = {
    graph_session_id: world.graphSessionId,
    arguments: { ...order },
    idempotency_key: key.padEnd(8, '-'),
  };
  return world.relay.agents.runSession(world.caller, request);
}

async function cancelLater(world: BenchWorld, commandId: string, at: number): Promise<CancelRecord> {
  const { clock, relay, caller } = world;
  await sleepFor(clock, at - clock.monotonic());
  const askedAt = clock.monotonic();
  const run = await relay.agents.cancelRun(caller, { command_id: commandId });
  // A cancel of a waiting run ends it in the same call; the engine has then never begun it.
  const wasQueued = run.status === 'cancelled' && !world.runs.times.has(commandId);
  return { askedAt, found: wasQueued ? 'queued' : hasEnded(run) ? 'ended' : 'running' };
}
