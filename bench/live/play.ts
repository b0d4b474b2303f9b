/**
 * Plays a workload on real desktops, each desktop one round, all at once, and writes down what became of each run.
 *
 * Owns the real side of a round. What is drawn for it is drawn where the virtual side draws it, and it begins as far from
 * its desktop's last tick: so that each real run has a virtual twin.
 */
import type { AgentPrincipal, RunView } from '../../server/agent-api.ts';
import { BenchError } from '../bench-error.ts';
import type { BenchMode } from '../modes/mode.ts';
import { type AskedWorld, ask, hasEnded, untilEnded } from '../virtual/ask.ts';
import type { RunTimes } from '../virtual/bench-engine.ts';
import { SETTLE_MS } from '../virtual/bench-world.ts';
import { drawRound, type PlannedRun, type RunRecord } from '../virtual/rounds.ts';
import { sleepFor } from '../virtual/sleep.ts';
import type { Workload } from '../workloads/workload.ts';
import type { Desktops } from './desktops.ts';
import type { CallerApi, Callers } from './mcp-caller.ts';
import { sharedClock } from './shared-clock.ts';

/** The last desktop that begins gets this long to connect. */
const CONNECT_MS = 2_000;

/** Over how much time desktops begin, and rounds begin where a mode has no ticks. */
export interface Spreads {
  readonly desktopsMs: number;
  readonly roundsMs: number;
}

/** From a desktop's beginning until its round: the virtual distance, less or more by whole ticks. */
export function beginAfterMs({ relay }: BenchMode, gapMs: number, { desktopsMs, roundsMs }: Spreads): number {
  const period = (relay === 'auto' ? null : relay.tickMs) ?? roundsMs;
  const rest = (SETTLE_MS + gapMs) % period;
  return rest + Math.ceil(Math.max(0, desktopsMs + CONNECT_MS - rest) / period) * period;
}

/** A round that takes longer, without its waits, does not fit into two minutes. */
const LONGEST_ROUND_MS = 30_000;

/** Refuses what cannot be played over real sockets in this time. */
export function refuseUnplayable(workload: Workload, { seed, rounds }: { seed: number; rounds: number }): void {
  const { name, offline_s } = workload;
  if (offline_s > 0) {
    throw new BenchError(
      'workload-offline',
      `The workload ${name} takes the desktop's network away, and over real sockets nobody does. \`compare\` plays it in virtual time.`,
    );
  }
  const longestMs = Math.max(
    ...Array.from({ length: rounds }, (_, round) => workOf(drawRound({ workload, seed }, round).runs)),
  );
  if (longestMs <= LONGEST_ROUND_MS) return;
  throw new BenchError(
    'workload-too-long',
    `A round of ${name} would take ${Math.ceil(longestMs / 1_000)} s of real time, and ${LONGEST_ROUND_MS / 1_000} s is the most. Give a workload of shorter runs, like bench/workloads/short-runs.ts, or play it in virtual time with \`compare\`.`,
  );
}

function workOf(runs: readonly PlannedRun[]): number {
  const lastMs = runs.at(-1)?.atMs ?? 0;
  return lastMs + runs.reduce((sum, { order }) => sum + order.run_ms, 0);
}

interface PlayOptions {
  readonly workload: Workload;
  readonly seed: number;
  readonly mode: BenchMode;
  readonly desktops: Desktops;
  readonly callers: Callers;
  readonly spreads: Spreads;
  readonly onRound: () => void;
}

export async function playLive(options: PlayOptions): Promise<RunRecord[]> {
  const { workload, seed, mode, desktops, callers, spreads, onRound } = options;
  const startedAt = await desktops.run(spreads.desktopsMs);
  const rounds = startedAt.map(async (began, round) => {
    const drawn = drawRound({ workload, seed }, round);
    const beginAt = began + beginAfterMs(mode, drawn.gapMs, spreads);
    await untilThen(beginAt);
    const agents = callers.of(desktops.pairs[round]!.agentToken);
    const given = { workload, round, agents, session: desktops.sessions[round]!, beginAt };
    const played = await Promise.all(drawn.runs.map((run, index) => playRun({ ...given, run, index })));
    onRound();
    return played;
  });
  const played = (await Promise.all(rounds)).flat();
  const times = new Map((await desktops.seen()).times);
  return played.map((each) => recordOf(each, times.get(each.commandId) ?? null));
}

interface Played extends Omit<RunRecord, 'startedAt' | 'endedAt' | 'cancel'> {
  readonly commandId: string;
  readonly cancel: { readonly askedAt: number; readonly run: RunView } | null;
}

/** The token says who calls. */
const NOBODY: AgentPrincipal = { agentId: '', name: '', projects: [], scopes: [] };

async function playRun(given: {
  workload: Workload;
  round: number;
  index: number;
  run: PlannedRun;
  agents: CallerApi;
  session: string;
  beginAt: number;
}): Promise<Played> {
  const { workload, round, index, run, agents, session, beginAt } = given;
  const world: AskedWorld = {
    clock: sharedClock,
    relay: { agents },
    caller: NOBODY,
    options: { weighsAnswers: false },
  };
  await untilThen(beginAt + run.atMs);
  const queuedAt = sharedClock.monotonic();
  const ticket = await agents.runSession(NOBODY, {
    graph_session_id: session,
    arguments: { ...run.order },
    idempotency_key: `round-${round}-run-${index}`,
  });
  const commandId = ticket.command_id;
  const cancelling = run.cancelAfterMs === null ? null : cancelLater(agents, commandId, queuedAt + run.cancelAfterMs);
  const asking = workload.asking.map((strategy) => ask(world, ticket, strategy));
  const { status } = await untilEnded(world, commandId);
  const knownAt = sharedClock.monotonic();
  const [asked, cancel] = [await Promise.all(asking), await cancelling];
  return { round, index, commandId, status, queuedAt, knownAt, cancel, asked };
}

async function cancelLater(agents: CallerApi, commandId: string, at: number) {
  await untilThen(at);
  const askedAt = sharedClock.monotonic();
  return { askedAt, run: await agents.cancelRun(NOBODY, { command_id: commandId }) };
}

function recordOf({ commandId: _, cancel, ...played }: Played, times: RunTimes | null): RunRecord {
  const found = cancel === null ? null : foundBy(cancel.run, times);
  return {
    ...played,
    startedAt: times?.startedAt ?? null,
    endedAt: times?.endedAt ?? null,
    cancel: cancel === null || found === null ? null : { askedAt: cancel.askedAt, found },
  };
}

function foundBy(run: RunView, times: RunTimes | null): NonNullable<RunRecord['cancel']>['found'] {
  if (run.status === 'cancelled' && times === null) return 'queued';
  return hasEnded(run) ? 'ended' : 'running';
}

function untilThen(at: number): Promise<void> {
  return sleepFor(sharedClock, at - sharedClock.monotonic());
}
