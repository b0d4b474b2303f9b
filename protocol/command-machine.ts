/**
 * The life of a command: one table, one pure function. Nothing else moves a status.
 *
 *   queued ──offer──▶ offered ──start──▶ running ──complete──▶ completed | failed | cancelled
 *     ▲                 │                   ├─ interrupt ────▶ failed
 *     └──── return ─────┘                   └─ lose ─────────▶ lost ──complete──▶ completed | failed | cancelled
 *   queued, offered ── cancel, withdraw ──▶ cancelled        queued, offered ── expire ──▶ expired
 *   queued, offered ── interrupt ──▶ failed
 *
 * - queued: on disk, waiting for its desktop. Entered by the start call, or when an offer came back.
 * - offered: it was put into a sync answer. The desktop may or may not have it; callers see it as queued. It may be
 *   started, since sent is not received, and received is not started.
 * - running: the desktop asked and was told to run; `executionId` names the one execution that may complete it. A
 *   cancel is written down (`cancelRequestedAt`) and wins over any finish that is reported after it.
 * - completed, failed, cancelled, expired: the end; later reports change nothing.
 * - lost: the desktop has not been heard of for too long. The one end that a late completion repairs.
 *
 * A queued command may be started and completed too: the desktop may have had the offer that the server took back.
 */
import type { CompleteInput, StopReason } from './schemas.ts';

export type CommandStatus =
  | 'queued'
  | 'offered'
  | 'running'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'expired'
  | 'lost';

/** What the machine knows of a command. Instants (`…At`) are epoch milliseconds. */
export interface CommandLife {
  readonly status: CommandStatus;
  readonly queuedAt: number;
  /** The last offer; null while it was never offered. */
  readonly offeredAt: number | null;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  /** How often it was put into a sync answer. */
  readonly offers: number;
  /** The epoch of the instance that it was offered to last; null also for an offer of the plain contract, which has none. */
  readonly epoch: number | null;
  /** Null also while a desktop of the plain contract has not named it. */
  readonly executionId: string | null;
  /** When a stop was asked for, and why. While running, the desktop has not confirmed it yet. */
  readonly cancelRequestedAt: number | null;
  readonly stopReason: StopReason | null;
  /** The end's text for people; null while there is none. */
  readonly error: string | null;
  readonly totalTokens: number | null;
  readonly reportedCost: number | null;
  /** Whether a result was stored, did not fit, or does not exist. */
  readonly result: 'none' | 'stored' | 'truncated';
  /** Length of the envelope that did not fit, in characters, as far as it is known. */
  readonly resultChars: number | null;
}

export type CommandEvent =
  | { readonly type: 'offer'; readonly epoch: number | null }
  /** The offer was lost on the way, or its desktop fell silent. */
  | { readonly type: 'return' }
  | { readonly type: 'start'; readonly executionId: string | null }
  | { readonly type: 'complete'; readonly completion: CompleteInput }
  | { readonly type: 'cancel' }
  /** The owner does not share the session any more. */
  | { readonly type: 'withdraw'; readonly text: string }
  | { readonly type: 'expire'; readonly text: string }
  /** No result will ever come: the desktop restarted during the run, or its report cannot be read. */
  | { readonly type: 'interrupt'; readonly text: string }
  | { readonly type: 'lose'; readonly text: string };

/** What has to happen besides, for whoever applies the transition. */
export type CommandEffect =
  /** A held control of this command has news. */
  | 'wake-control'
  /** A completion's result is to be kept. */
  | 'store-result';

export interface Transition {
  readonly life: CommandLife;
  /** False when the event changed nothing (it was repeated, or came too late). */
  readonly changed: boolean;
  readonly effects: readonly CommandEffect[];
}

type EventType = CommandEvent['type'];
type EventOf<E extends EventType> = Extract<CommandEvent, { type: E }>;
type Move<E extends EventType> = (life: CommandLife, event: EventOf<E>, now: number) => Transition;

/** Each event in each status. A pair that is missing changes nothing: the event came too late or means nothing there. */
const TABLE: { readonly [S in CommandStatus]: { readonly [E in EventType]?: Move<E> } } = {
  queued: { offer, start, complete, cancel: end, withdraw: end, expire: end, interrupt: end },
  offered: { offer, return: giveBack, start, complete, cancel: end, withdraw: end, expire: end, interrupt: end },
  running: { complete, cancel: askToStop, withdraw: askToStop, interrupt: end, lose: end },
  completed: {},
  failed: {},
  cancelled: {},
  expired: {},
  lost: { complete },
};

const ENDED: ReadonlySet<CommandStatus> = new Set(['completed', 'failed', 'cancelled', 'expired', 'lost']);

export function hasEnded(status: CommandStatus): boolean {
  return ENDED.has(status);
}

/** A command that waits for its desktop: what callers call queued. */
export function isWaiting(status: CommandStatus): boolean {
  return status === 'queued' || status === 'offered';
}

/** Whether its last offer was one of the plain contract, whose desktops know no epoch. */
export function isPlainOffer({ offeredAt, epoch }: CommandLife): boolean {
  return offeredAt !== null && epoch === null;
}

export function newLife(now: number): CommandLife {
  return {
    status: 'queued',
    queuedAt: now,
    offeredAt: null,
    startedAt: null,
    finishedAt: null,
    offers: 0,
    epoch: null,
    executionId: null,
    cancelRequestedAt: null,
    stopReason: null,
    error: null,
    totalTokens: null,
    reportedCost: null,
    result: 'none',
    resultChars: null,
  };
}

/** Applies one event at the instant `now` (epoch ms). Pure: the life that was passed in is not changed. */
export function transition<E extends EventType>(life: CommandLife, event: EventOf<E>, now: number): Transition {
  const move = TABLE[life.status][event.type as E] as Move<E> | undefined;
  return move ? move(life, event, Math.max(now, lastInstant(life))) : unchanged(life);
}

/** The wall clock may be set back: no step is written down as earlier than the one before it. */
function lastInstant({ queuedAt, offeredAt, startedAt, finishedAt, cancelRequestedAt }: CommandLife): number {
  return Math.max(queuedAt, offeredAt ?? 0, startedAt ?? 0, finishedAt ?? 0, cancelRequestedAt ?? 0);
}

function unchanged(life: CommandLife): Transition {
  return { life, changed: false, effects: [] };
}

function changed(life: CommandLife, ...effects: CommandEffect[]): Transition {
  return { life, changed: true, effects };
}

function offer(life: CommandLife, event: EventOf<'offer'>, now: number): Transition {
  return changed({ ...life, status: 'offered', offeredAt: now, offers: life.offers + 1, epoch: event.epoch });
}

function giveBack(life: CommandLife): Transition {
  return changed({ ...life, status: 'queued' });
}

function start(life: CommandLife, event: EventOf<'start'>, now: number): Transition {
  return changed({ ...life, status: 'running', startedAt: now, executionId: event.executionId });
}

function complete(life: CommandLife, { completion }: EventOf<'complete'>, now: number): Transition {
  if (life.executionId !== null && life.executionId !== completion.execution_id) return unchanged(life);
  const status = life.cancelRequestedAt === null ? completion.status : 'cancelled';
  // That it was lost turned out to be wrong; what a stop said stays.
  const said = life.status === 'lost' ? null : life.error;
  const ended: CommandLife = {
    ...life,
    status,
    finishedAt: now,
    executionId: completion.execution_id,
    error: status === 'completed' ? null : (said ?? completion.error ?? null),
    totalTokens: completion.total_tokens ?? null,
    reportedCost: completion.reported_cost ?? null,
    result: status !== 'completed' ? 'none' : completion.result_truncated ? 'truncated' : 'stored',
    resultChars: status === 'completed' ? (completion.result_chars ?? null) : null,
  };
  return ended.result === 'stored' ? changed(ended, 'wake-control', 'store-result') : changed(ended, 'wake-control');
}

/** A stop that nobody has to confirm, or an end that no desktop reported. A cancel that was asked for before wins. */
function end(life: CommandLife, event: EventOf<EndingEvent>, now: number): Transition {
  const status = life.cancelRequestedAt === null ? ENDING[event.type].status : 'cancelled';
  return changed(
    {
      ...life,
      status,
      finishedAt: now,
      cancelRequestedAt: status === 'cancelled' ? (life.cancelRequestedAt ?? now) : null,
      stopReason: life.stopReason ?? ENDING[event.type].reason,
      error: life.error ?? textOf(event),
    },
    'wake-control',
  );
}

/** While it runs, a stop is only asked for: the desktop's report, or its silence, ends the run. */
function askToStop(life: CommandLife, event: EventOf<'cancel' | 'withdraw'>, now: number): Transition {
  if (life.cancelRequestedAt !== null) return unchanged(life);
  return changed(
    { ...life, cancelRequestedAt: now, stopReason: ENDING[event.type].reason, error: textOf(event) },
    'wake-control',
  );
}

type EndingEvent = 'cancel' | 'withdraw' | 'expire' | 'interrupt' | 'lose';

/** What an ending event makes of a command, and what its desktop is told when it asks. */
const ENDING: Readonly<Record<EndingEvent, { readonly status: CommandStatus; readonly reason: StopReason }>> = {
  cancel: { status: 'cancelled', reason: 'cancelled' },
  withdraw: { status: 'cancelled', reason: 'not-shared' },
  expire: { status: 'expired', reason: 'expired' },
  interrupt: { status: 'failed', reason: 'ended' },
  lose: { status: 'lost', reason: 'ended' },
};

function textOf(event: EventOf<EndingEvent>): string | null {
  return 'text' in event ? event.text : null;
}
