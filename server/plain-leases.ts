/**
 * What is known of commands that went to a desktop of the plain contract, which never acknowledges and says nothing of
 * those that wait on its side.
 *
 * Such a desktop takes all that is queued, runs it one after another, and sends a control each 3 s for the one that
 * runs. So each control and each completion is a sign that the whole batch is still being worked on, and the lease of
 * what it has not started is counted from the last sign. While it works it does not sync; when the lease is over, its
 * next sync may have the commands again. Owns those instants, in memory: after a restart of the relay each lease
 * begins anew. Decides nothing; `deadlines.ts` acts on it.
 */
import { hasEnded, isPlainOffer } from '../protocol/command-machine.ts';
import { PLAIN_LEASE_MS } from '../protocol/limits.ts';
import type { Clock } from '../protocol/ports.ts';
import type { CommandBook } from './command-book.ts';
import type { CommandRow } from './rows.ts';

export class PlainLeases {
  readonly #clock: Clock;
  readonly #startedAt: number;
  /** By desktop: its last control or completion. Monotonic, like all instants here. */
  readonly #lastSign = new Map<string, number>();
  /** By command: its offer, or its last control since. */
  readonly #lastOf = new Map<string, number>();

  constructor(options: { clock: Clock; commands: CommandBook }) {
    this.#clock = options.clock;
    this.#startedAt = options.clock.monotonic();
    options.commands.onChange(({ row }) => {
      if (hasEnded(row.status)) this.#lastOf.delete(row.commandId);
      else if (isPlainOffer(row)) this.#lastOf.set(row.commandId, this.#clock.monotonic());
    });
  }

  /** The desktop sent a control or a completion; `commandId` is the command that it says it is running. */
  sign(desktopId: string, commandId: string | null): void {
    const now = this.#clock.monotonic();
    this.#lastSign.set(desktopId, now);
    if (commandId !== null && this.#lastOf.has(commandId)) this.#lastOf.set(commandId, now);
  }

  /** How much longer an offered command is the desktop's. Zero or less: it may be offered again. */
  leftMs(row: CommandRow): number {
    const since = Math.max(this.#since(row), this.#lastSign.get(row.desktopId) ?? 0);
    return since + PLAIN_LEASE_MS - this.#clock.monotonic();
  }

  /** How long a running command has not been asked about. Its desktop may be alive, and have forgotten it. */
  silentMs(row: CommandRow): number {
    return this.#clock.monotonic() - this.#since(row);
  }

  #since({ commandId }: CommandRow): number {
    return this.#lastOf.get(commandId) ?? this.#startedAt;
  }
}
