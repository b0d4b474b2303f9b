/**
 * What happens to a command when nothing happens: an offer comes back, a waiting command expires, a running one is lost.
 *
 * Owns the timers. A timer is armed anew with each change of its command, and measures on the monotonic clock, so a
 * step of the wall clock moves nothing. The start-by instant is also checked when a command is about to be offered or
 * started, since no timer runs while the machine sleeps.
 */
import { type CommandEvent, isPlainOffer, isWaiting } from '../protocol/command-machine.ts';
import { OFFER_TIMEOUT_MS } from '../protocol/limits.ts';
import type { Clock, Timer } from '../protocol/ports.ts';
import type { CommandBook } from './command-book.ts';
import type { DesktopBook } from './desktop-book.ts';
import type { PlainLeases } from './plain-leases.ts';
import type { RelayLimits } from './relay-limits.ts';
import type { CommandRow } from './rows.ts';

export function expiredText({ startBy }: CommandRow): string {
  return `The run did not start in time: its start-by time (${new Date(startBy).toISOString()}) passed while it was queued.`;
}

const LOST_TEXT =
  'The desktop has not been heard of for too long while the run was going on. If it comes back, its result is still taken.';

export class Deadlines {
  readonly #clock: Clock;
  readonly #commands: CommandBook;
  readonly #desktops: DesktopBook;
  readonly #leases: PlainLeases;
  readonly #lostAfterMs: number;
  #stopped = false;
  readonly #timers = new Map<string, Timer>();
  readonly #onReturned: (desktopId: string) => void;

  /** `onReturned` is told the desktop whose offer came back, so that somebody can offer it again. */
  constructor(options: {
    clock: Clock;
    commands: CommandBook;
    desktops: DesktopBook;
    leases: PlainLeases;
    limits: Pick<RelayLimits, 'lostAfterMs'>;
    onReturned: (desktopId: string) => void;
  }) {
    this.#clock = options.clock;
    this.#commands = options.commands;
    this.#desktops = options.desktops;
    this.#leases = options.leases;
    this.#lostAfterMs = options.limits.lostAfterMs;
    this.#onReturned = options.onReturned;
    for (const row of this.#commands.allLive()) this.#arm(row);
    this.#commands.onChange(({ row }) => this.#arm(row));
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  #arm(row: CommandRow): void {
    // A request that ends after the drain changes rows too; a timer for them would keep the process alive.
    if (this.#stopped) return;
    this.#timers.get(row.commandId)?.cancel();
    this.#timers.delete(row.commandId);
    const delayMs = this.#delay(row);
    if (delayMs === null) return;
    this.#timers.set(
      row.commandId,
      this.#clock.after(delayMs, () => this.#due(row)),
    );
  }

  #delay(row: CommandRow): number | null {
    const untilExpiry = row.startBy - this.#clock.now();
    if (row.status === 'queued') return untilExpiry;
    if (row.status === 'offered') {
      return Math.min(isPlainOffer(row) ? this.#leases.leftMs(row) : OFFER_TIMEOUT_MS, untilExpiry);
    }
    if (row.status === 'running') return this.#lostAfterMs - this.#silentMs(row);
    return null;
  }

  #due(row: CommandRow): void {
    const event = this.#eventOf(row);
    if (event === null) {
      this.#arm(row);
      return;
    }
    this.#commands.apply(row.commandId, event);
    if (event.type === 'return') this.#onReturned(row.desktopId);
  }

  #eventOf(row: CommandRow): CommandEvent | null {
    if (isWaiting(row.status) && this.#clock.now() >= row.startBy) return { type: 'expire', text: expiredText(row) };
    if (row.status === 'offered') {
      return this.#isTaken(row) ? null : { type: 'return' };
    }
    if (row.status === 'running' && this.#silentMs(row) >= this.#lostAfterMs) {
      return { type: 'lose', text: LOST_TEXT };
    }
    return null;
  }

  /** Whether the desktop has the offered command, as far as its contract lets one know. */
  #isTaken(row: CommandRow): boolean {
    if (isPlainOffer(row)) return this.#leases.leftMs(row) > 0;
    return this.#desktops.isHolding(row.desktopId, row.commandId);
  }

  /** How long nothing has been heard that speaks for this run. */
  #silentMs(row: CommandRow): number {
    return isPlainOffer(row) ? this.#leases.silentMs(row) : this.#desktops.silentMs(row.desktopId);
  }
}
