/**
 * How long finished runs are kept: by age, and by count.
 *
 * Only runs that have ended go, the oldest first, with their results and their idempotency keys; a key lives at least
 * as long as is published, whatever the count. The work is spread: a few rows a commit, and a pause before the next
 * ones, so that no caller's commit waits behind thousands of removals. Owns the timer.
 */
import { hasEnded } from '../protocol/command-machine.ts';
import type { Clock, Log, Timer } from '../protocol/ports.ts';
import type { CommandBook } from './command-book.ts';
import type { RelayLimits } from './relay-limits.ts';
import type { CommandRow } from './rows.ts';

/** Rows that one commit removes. Larger: somebody's ticket waits for it. Smaller: a backlog takes longer. */
const ROWS_PER_COMMIT = 50;
/** The pause between two such commits. At 50 rows a second, a backlog of 10,000 is gone within minutes. */
const PAUSE_MS = 1_000;

export interface RetentionOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly commands: CommandBook;
  readonly limits: RelayLimits;
}

export class Retention {
  readonly #options: RetentionOptions;
  #timer: Timer | null = null;
  /** Monotonic: the next removal is not before this. */
  #pauseUntil = 0;
  #stopped = false;

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.#arm();
    options.commands.onChange(({ row }) => {
      if (hasEnded(row.status)) this.#arm();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** Wakes when the oldest run is due and the pause is over. */
  #arm(): void {
    this.#timer?.cancel();
    this.#timer = null;
    const { clock, commands, limits } = this.#options;
    const [oldest] = commands.finished();
    if (oldest === undefined || this.#stopped) return;
    const untilDue = this.#dueAt(oldest, commands.finishedCount > limits.runsKept) - clock.now();
    const delayMs = Math.max(untilDue, this.#pauseUntil - clock.monotonic());
    this.#timer = clock.after(delayMs, () => this.#sweep());
  }

  #sweep(): void {
    const { clock, commands, limits, log } = this.#options;
    const now = clock.now();
    let excess = commands.finishedCount - limits.runsKept;
    const due: CommandRow[] = [];
    for (const row of commands.finished()) {
      if (due.length === ROWS_PER_COMMIT || this.#dueAt(row, excess > 0) > now) break;
      due.push(row);
      excess--;
    }
    if (due.length > 0) {
      commands.forget(due);
      log.info('runs.pruned', { count: due.length, kept: commands.finishedCount });
    }
    this.#pauseUntil = clock.monotonic() + PAUSE_MS;
    this.#arm();
  }

  #dueAt({ finishedAt, queuedAt }: CommandRow, isOneTooMany: boolean): number {
    const { runRetentionMs, keyRetentionMs } = this.#options.limits;
    return (finishedAt ?? queuedAt) + (isOneTooMany ? keyRetentionMs : Math.max(runRetentionMs, keyRetentionMs));
  }
}
