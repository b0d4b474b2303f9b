/**
 * Brings waiting commands and waiting desktops together, and tells everyone who waits for news of a command.
 *
 * Owns the holds. This is the hot path of the product: from the start call to the answer of a held sync everything
 * happens in one turn of the event loop, while the disk is still writing. What may not overtake the disk is the
 * permission to run (see desktop-control.ts) and the ticket (see agent-calls.ts).
 */
import { getOrMake } from '../protocol/collections.ts';
import { hasEnded, isWaiting } from '../protocol/command-machine.ts';
import type { Clock } from '../protocol/ports.ts';
import type { ControlAnswer, OfferedCommand, SyncAnswer } from '../protocol/schemas.ts';
import type { CommandBook, CommandChange } from './command-book.ts';
import { expiredText } from './deadlines.ts';
import { Hold, type HoldOptions, HoldRegistry } from './holds.ts';
import type { CommandRow } from './rows.ts';

/** A held sync: the desktop waits for as many commands as it has free slots. */
export class SyncHold extends Hold<SyncAnswer> {
  capacity: number;
  readonly epoch: number;
  readonly answerFor: (commands: OfferedCommand[]) => SyncAnswer;

  constructor(
    options: Omit<HoldOptions<SyncAnswer>, 'empty'> & {
      capacity: number;
      epoch: number;
      answerFor: (commands: OfferedCommand[]) => SyncAnswer;
    },
  ) {
    super({ ...options, empty: () => options.answerFor([]) });
    this.capacity = options.capacity;
    this.epoch = options.epoch;
    this.answerFor = options.answerFor;
  }
}

export class Dispatcher {
  readonly syncs = new HoldRegistry<SyncAnswer, SyncHold>();
  readonly controls = new HoldRegistry<ControlAnswer>();
  readonly #watchers = new Map<string, Set<Hold<void>>>();
  readonly #commands: CommandBook;
  readonly #clock: Clock;
  #closed = false;

  constructor(options: { commands: CommandBook; clock: Clock }) {
    this.#commands = options.commands;
    this.#clock = options.clock;
    this.#commands.onChange((change) => this.#changed(change));
  }

  /** From now on nothing is offered to anybody. */
  close(): void {
    this.#closed = true;
  }

  /** Puts waiting commands into the desktop's held sync, if there is one with room. */
  dispatch(desktopId: string): void {
    const hold = this.syncs.get(desktopId);
    if (hold === null || hold.capacity < 1) return;
    const commands = this.take(desktopId, hold);
    if (commands.length > 0) hold.answerWith(hold.answerFor(commands));
  }

  /** Moves the first waiting commands that fit to `offered`, in the order of queueing; only this project's, if it is given. */
  take(desktopId: string, room: { capacity: number; epoch: number | null; projectId?: string }): OfferedCommand[] {
    if (this.#closed) return [];
    const waiting = this.#firstQueued(desktopId, room);
    return waiting.map((row) => {
      this.#commands.apply(row.commandId, { type: 'offer', epoch: room.epoch });
      return offerOf(row);
    });
  }

  /**
   * A completion said that slots are free: the held sync takes that many commands now. False when none is held; the
   * desktop then has to sync again, for the sync that was on its way still says that it is busy.
   */
  raiseCapacity(desktopId: string, capacity: number): boolean {
    const hold = this.syncs.get(desktopId);
    if (hold === null) return false;
    hold.capacity = Math.max(hold.capacity, capacity);
    this.dispatch(desktopId);
    return true;
  }

  /** A hold that ends at the next news of the command: a change that its callers can see. */
  watch(commandId: string, hold: { holdMs: number; signal: AbortSignal }): Hold<void> {
    const watcher = new Hold<void>({ clock: this.#clock, ...hold, empty: () => undefined });
    const watchers = getOrMake(this.#watchers, commandId, () => new Set<Hold<void>>());
    watchers.add(watcher);
    const forget = () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(commandId) === watchers) this.#watchers.delete(commandId);
    };
    watcher.answer.then(forget, forget);
    return watcher;
  }

  /** There is news of this command: whoever watches it is told. */
  news(commandId: string): void {
    for (const watcher of this.#watchers.get(commandId) ?? []) watcher.release();
  }

  #firstQueued(desktopId: string, room: { capacity: number; projectId?: string }): CommandRow[] {
    const found: CommandRow[] = [];
    const tooLate: CommandRow[] = [];
    const now = this.#clock.now();
    for (const row of this.#commands.live(desktopId)) {
      if (found.length >= room.capacity) break;
      if (row.status !== 'queued' || row.projectId !== (room.projectId ?? row.projectId)) continue;
      if (now < row.startBy) found.push(row);
      else tooLate.push(row);
    }
    for (const row of tooLate) this.#commands.apply(row.commandId, { type: 'expire', text: expiredText(row) });
    return found;
  }

  #changed({ row, before, effects }: CommandChange): void {
    if (effects.includes('wake-control')) {
      this.controls.get(row.commandId)?.answerWith(controlAnswerOf(row));
    }
    const invisible = before !== null && isWaiting(before) && isWaiting(row.status);
    if (invisible) return;
    this.news(row.commandId);
  }
}

function offerOf(row: CommandRow): OfferedCommand {
  return {
    command_id: row.commandId,
    project_id: row.projectId,
    graph_session_id: row.graphSessionId,
    slug: row.slug,
    arguments: row.arguments,
    queued_at_ms: row.queuedAt,
  };
}

/** What the desktop that runs this command is told. A lost run may go on: its completion repairs it. */
export function controlAnswerOf(row: CommandRow): ControlAnswer {
  const stop = row.cancelRequestedAt !== null || (hasEnded(row.status) && row.status !== 'lost');
  return stop ? { cancel: true, reason: row.stopReason ?? 'ended' } : { cancel: false, reason: null };
}
