/**
 * What a wake-up costs in each layer: one desktop that waits, one run at a time, and the instants of all three processes
 * on the clock that they share. Floors are measured between the runs.
 *
 * Owns the order of the instants and what lies between two of them.
 */
import { join } from 'node:path';
import type { AgentPrincipal } from '../../server/agent-api.ts';
import longPoll from '../modes/long-poll.ts';
import websocket from '../modes/websocket.ts';
import { stampUs } from '../pickup/stamp.ts';
import { hasEnded } from '../virtual/ask.ts';
import { sleepFor } from '../virtual/sleep.ts';
import { openDesktops, type Pair } from './desktops.ts';
import type { DesktopsAnswer } from './desktops-messages.ts';
import { type Floor, type FloorSamples, newSamples } from './floor.ts';
import type { CallerApi, Callers } from './mcp-caller.ts';
import type { LiveRelay } from './relay.ts';
import type { RelayMark } from './relay-messages.ts';
import { sharedClock } from './shared-clock.ts';

/** The instants of one pickup, in their order. */
export const STATIONS = ['called', 'queued', 'written', 'socket', 'loop', 'ack', 'engine'] as const;
export type Station = (typeof STATIONS)[number];

/** Milliseconds of the shared clock. */
export type Pickup = Readonly<Record<Station, number>> & { readonly ticket: number };

export const LAYERED_MODES = [longPoll, websocket] as const;

export interface LayersMeasured {
  readonly floor: FloorSamples;
  /** In the order of {@link LAYERED_MODES}. */
  readonly pickups: readonly (readonly Pickup[])[];
}

/** So many runs of each warm up and do not count. */
const WARM_UP = 10;
/** Between two runs, so that the desktop really waits. */
const GAP_MS = 10;
const NOBODY: AgentPrincipal = { agentId: '', name: '', projects: [], scopes: [] };
const never = new AbortController().signal;

export async function measureLayers(given: {
  relay: LiveRelay;
  callers: Callers;
  floor: Floor;
  /** One for each of {@link LAYERED_MODES}. */
  pairs: readonly Pair[];
  directory: string;
  runs: number;
  onRun: () => void;
}): Promise<LayersMeasured> {
  const { relay, callers, floor, pairs, directory, runs, onRun } = given;
  const subjects = await Promise.all(
    LAYERED_MODES.map(async (mode, index) => {
      const pair = pairs[index]!;
      const workload = { slots: 1, stop_s: 0 };
      const folder = join(directory, mode.name);
      const opened = { relay: relay.url, mode, workload, pairs: [pair], directory: folder, marked: true };
      const desktops = await openDesktops(opened);
      await desktops.run(0);
      return { desktops, agents: callers.of(pair.agentToken), session: desktops.sessions[0]! };
    }),
  );
  await Promise.all(subjects.map(({ agents, session }) => untilShared(agents, session)));
  await relay.record(true);
  const samples = newSamples();
  const called: Called[][] = subjects.map(() => []);
  for (let run = -WARM_UP; run < runs; run++) {
    await floor.sample(run < 0 ? newSamples() : samples);
    for (const [index, { agents, session }] of subjects.entries()) {
      await sleepFor(sharedClock, GAP_MS);
      const each = await runOnce(agents, session);
      if (run >= 0) called[index]!.push(each);
    }
    if (run >= 0) onRun();
  }
  const marks = await relay.marks();
  await relay.record(false);
  const pickups = await Promise.all(
    subjects.map(async ({ desktops }, index) =>
      pickupsOf(called[index]!, { relay: marks, desktop: await desktops.seen() }),
    ),
  );
  await Promise.all(subjects.map(({ desktops }) => desktops.end()));
  return { floor: samples, pickups };
}

/** What the caller sees of a run. */
interface Called {
  readonly commandId: string;
  readonly calledMs: number;
  readonly ticketMs: number;
}

/** Runs until it has ended, so that the desktop waits again. */
async function runOnce(agents: CallerApi, session: string): Promise<Called> {
  const calledUs = stampUs();
  const request = { graph_session_id: session, arguments: { run_ms: 0 }, idempotency_key: `at-${calledUs}` };
  const { command_id } = await agents.runSession(NOBODY, request);
  const ticketUs = stampUs();
  while (!hasEnded(await agents.getRun(NOBODY, { command_id, waitMs: 10_000, signal: never })));
  return { commandId: command_id, calledMs: calledUs / 1_000, ticketMs: ticketUs / 1_000 };
}

const SHARED_PAUSE_MS = 50;
const SHARED_TRIES = 600;

/** Until the relay knows the session. */
async function untilShared(agents: CallerApi, session: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await runOnce(agents, session);
      return;
    } catch (error) {
      if (attempt === SHARED_TRIES) throw error;
      await sleepFor(sharedClock, SHARED_PAUSE_MS);
    }
  }
}

/** The instants of each run, from all three processes. One run at a time: the next mark of a kind is its own. */
export function pickupsOf(
  called: readonly Called[],
  seen: { relay: readonly RelayMark[]; desktop: Pick<DesktopsAnswer, 'times' | 'marks'> },
): Pickup[] {
  const times = new Map(seen.desktop.times);
  const marks = new Map(seen.desktop.marks.map((mark) => [mark.commandId, mark] as const));
  return called.map(({ commandId, calledMs, ticketMs }) => {
    const mark = present(marks.get(commandId), `the desktop's instants of ${commandId}`);
    const queuedUs = next(seen.relay, 'queued', { afterUs: 0, commandId });
    return {
      called: calledMs,
      ticket: ticketMs,
      queued: queuedUs / 1_000,
      written: next(seen.relay, 'sync-written', { afterUs: queuedUs }) / 1_000,
      socket: mark.socketUs / 1_000,
      loop: mark.loopUs / 1_000,
      ack: next(seen.relay, 'control-arrived', { afterUs: mark.loopUs }) / 1_000,
      engine: present(times.get(commandId), `the start of ${commandId}`).startedAt,
    };
  });
}

function next(
  marks: readonly RelayMark[],
  what: RelayMark['what'],
  { afterUs, commandId }: { afterUs: number; commandId?: string },
): number {
  const found = marks.find((mark) => mark.what === what && mark.atUs >= afterUs && mark.commandId === commandId);
  return present(found, `the relay's mark ${what}`).atUs;
}

function present<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`A measurement is incomplete: ${what} is missing.`);
  return value;
}
