/**
 * What the relay has seen of earlier runs, and what it makes of that for a run that has not ended: when to look again.
 *
 * Owns the run times by session, in memory, made from the commands that the store still has. A guess and no promise:
 * nothing that the relay does depends on it.
 */
import { hasEnded, isWaiting } from '../protocol/command-machine.ts';
import { PLAIN_POLL_MS } from '../protocol/limits.ts';
import type { Clock } from '../protocol/ports.ts';
import type { AwaitedApprovals } from './awaited-approvals.ts';
import type { CommandBook } from './command-book.ts';
import type { DesktopBook } from './desktop-book.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { CommandRow } from './rows.ts';

/** Run times that are remembered of one session. More: a Graph that was changed is judged by what it was for longer. */
const REMEMBERED_RUNS = 32;

/** What a run is taken to need while none of its session has completed. Half of the shortest poll in the published tables. */
const UNKNOWN_RUN_MS = 10_000;

/** Where a run has outlasted all that were seen, it is taken to need this share of its age once more. */
const OUTLASTED_SHARE = 0.25;

/**
 * The first look comes when this share of the session's runs had ended, and each later one after a share of the time in
 * which most of them ended. What that costs on the published run times is a row of `bench published`, beside fixed
 * intervals: 4.4 calls a run, 11 s late. Half of the remaining time in place of both: 2.1 calls, 33 s late.
 */
const FIRST_LOOK_SHARE = 0.2;
const NEXT_LOOK_SHARE = 0.2;

/** How often it is worth looking at a run whose desktop is away: nothing says when it comes back. */
const AWAY_CHECK_MS = 60_000;

/**
 * How often it is worth looking at a run that waits for its owner: a person who is there answers within a minute, and one
 * who let it wait for long will let it wait for a share of that again.
 */
const OWNER_CHECK_MS = 30_000;

/** Bounds of the advice. Less than a second: a call for nothing. More than five minutes: a change goes unnoticed for long. */
const CHECK_MS = { min: 1_000, max: 300_000 } as const;

export interface RunEvidenceOptions {
  readonly clock: Clock;
  readonly approvals: AwaitedApprovals;
  readonly commands: CommandBook;
  readonly desktops: DesktopBook;
  readonly dispatcher: Dispatcher;
}

/** Run times of a session, from started to completed. */
export interface TypicalRun {
  readonly medianMs: number;
  /** How many runs it is the median of. */
  readonly runs: number;
}

/** Of one session, in milliseconds. Sorted once for each run that ends: they are looked at for each that waits. */
interface RunTimes {
  /** The latest one last. */
  readonly recent: readonly number[];
  readonly sorted: readonly number[];
}

export class RunEvidence {
  readonly #options: RunEvidenceOptions;
  readonly #runTimes = new Map<string, RunTimes>();

  constructor(options: RunEvidenceOptions) {
    this.#options = options;
    for (const row of options.commands.finished()) this.#remember(row);
    options.commands.onChange(({ row }) => this.#remember(row));
  }

  /** Null while no run of the session has completed. */
  typical(graphSessionId: string): TypicalRun | null {
    const times = this.#runTimes.get(graphSessionId);
    return times === undefined ? null : { medianMs: medianOf(times.sorted), runs: times.sorted.length };
  }

  /**
   * In how many whole seconds to look at this run again; null when it has ended. Early rather than late: a look too many
   * costs a call, and a result that lies there costs the time of whoever waits for it.
   */
  checkAfterSeconds(row: CommandRow): number | null {
    if (hasEnded(row.status)) return null;
    const ms = this.#untilWorthMs(row);
    return Math.ceil(Math.min(Math.max(ms, CHECK_MS.min), CHECK_MS.max) / 1_000);
  }

  #untilWorthMs(row: CommandRow): number {
    const { approvals, clock, desktops } = this.#options;
    const asked = approvals.of(row.commandId);
    if (asked !== null) return Math.max(OWNER_CHECK_MS, OUTLASTED_SHARE * (clock.now() - asked.since));
    if (isWaiting(row.status) && !desktops.presence(row.desktopId).online) return AWAY_CHECK_MS;
    return this.#untilPickupMs(row) + this.#untilLookMs(row);
  }

  /** Until the desktop begins this one: its next sync, and what runs or waits before it. */
  #untilPickupMs(row: CommandRow): number {
    if (!isWaiting(row.status)) return 0;
    const { commands, desktops, dispatcher } = this.#options;
    const running: number[] = [];
    let ahead = 0;
    for (const other of commands.live(row.desktopId)) {
      if (other.status === 'running') running.push(this.#remainingMs(other));
      else if (other.sequence < row.sequence) ahead += this.#remainingMs(other);
    }
    const held = dispatcher.syncs.get(row.desktopId);
    if (held !== null && held.capacity > 0) return ahead / Math.max(1, running.length + held.capacity);
    const polls = desktops.presence(row.desktopId).transport === 'plain';
    const nextSyncMs = polls ? Math.max(0, PLAIN_POLL_MS - desktops.silentMs(row.desktopId)) : 0;
    // One desktop is one worker unless it was seen to run several at once.
    const slots = Math.max(1, running.length);
    const busyMs = running.length === 0 ? 0 : Math.min(...running);
    return Math.max(nextSyncMs, busyMs) + ahead / slots;
  }

  /** Once it has started: how long until it is worth a look. */
  #untilLookMs(row: CommandRow): number {
    const times = this.#runTimes.get(row.graphSessionId);
    if (times === undefined) return this.#remainingMs(row);
    const ageMs = this.#ageMs(row);
    const early = quantileOf(times.sorted, FIRST_LOOK_SHARE);
    if (early > ageMs) return early - ageMs;
    const spreadMs = quantileOf(times.sorted, 1 - FIRST_LOOK_SHARE) - early;
    const outlasted = times.sorted.at(-1)! <= ageMs;
    return Math.max(NEXT_LOOK_SHARE * spreadMs, outlasted ? OUTLASTED_SHARE * ageMs : 0);
  }

  #ageMs({ startedAt }: CommandRow): number {
    return startedAt === null ? 0 : Math.max(0, this.#options.clock.now() - startedAt);
  }

  /** How much longer it takes once it has started, as half of the comparable runs did. */
  #remainingMs(row: CommandRow): number {
    const times = this.#runTimes.get(row.graphSessionId)?.sorted ?? [];
    const ageMs = this.#ageMs(row);
    const first = times.findIndex((time) => time > ageMs);
    if (first >= 0) return medianOf(times.slice(first)) - ageMs;
    if (times.length === 0 && ageMs < UNKNOWN_RUN_MS) return UNKNOWN_RUN_MS - ageMs;
    return ageMs * OUTLASTED_SHARE;
  }

  #remember(row: CommandRow): void {
    if (row.status !== 'completed' || row.startedAt === null || row.finishedAt === null) return;
    const { recent } = this.#runTimes.get(row.graphSessionId) ?? { recent: [] };
    const latest = [...recent, row.finishedAt - row.startedAt].slice(-REMEMBERED_RUNS);
    this.#runTimes.set(row.graphSessionId, { recent: latest, sorted: latest.toSorted((a, b) => a - b) });
  }
}

/** By the nearest rank. */
function quantileOf(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
}

function medianOf(sorted: readonly number[]): number {
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
