/**
 * Completions on their way to the relay. An entry is on disk before it is posted, leaves only when the relay has it or
 * refuses it for good, and never blocks another.
 *
 * Owns the rows of table `outbox` from the moment they are there.
 */
import { Backoff } from '../protocol/backoff.ts';
import { asRelayError, type ErrorCode, type RelayError } from '../protocol/errors.ts';
import type { Ports, StateStore, Timer } from '../protocol/ports.ts';
import type { CompleteAnswer } from '../protocol/schemas.ts';
import type { Dialer } from './ports.ts';
import type { DesktopTables, OutboxRow } from './rows.ts';

/** Refusals of this desktop as it is now. Its completions may be taken once it is updated, or has its rights back. */
const NOT_ABOUT_THE_ENTRY: ReadonlySet<ErrorCode> = new Set(['forbidden', 'unsupported-protocol']);

export interface OutboxOptions {
  readonly ports: Ports;
  readonly store: StateStore<DesktopTables>;
  readonly dialer: Dialer;
  /** False in the plain contract: entries then wait for the next pass instead of a backoff of their own. */
  readonly retryByItself: boolean;
}

export class Outbox {
  readonly #options: OutboxOptions;
  readonly #sending = new Map<string, Promise<CompleteAnswer | null>>();
  readonly #retries = new Map<string, { backoff: Backoff; timer: Timer | null }>();
  readonly #stopped = new AbortController();

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** Entries that the relay may still take. */
  pending(): OutboxRow[] {
    return [...this.#options.store.rows('outbox').values()].filter((row) => row.refused === null);
  }

  /** Entries that were refused for good, for the owner to see. */
  refused(): OutboxRow[] {
    return [...this.#options.store.rows('outbox').values()].filter((row) => row.refused !== null);
  }

  /** Posts everything that is not on its way already. Resolves when each post has ended, well or not. */
  async flush(): Promise<void> {
    await Promise.all(this.pending().map((row) => this.post(row, undefined)));
  }

  /**
   * Posts one entry, which must be on disk. `capacity` goes along on the first post after a run. Resolves with the
   * relay's answer, or null when it was not delivered; it then stays and is tried again.
   */
  async post(row: OutboxRow, capacity: number | undefined): Promise<CompleteAnswer | null> {
    if (this.#sending.has(row.executionId) || this.#stopped.signal.aborted) return null;
    this.#retries.get(row.executionId)?.timer?.cancel();
    const sending = this.#send(row, capacity);
    this.#sending.set(row.executionId, sending);
    try {
      return await sending;
    } finally {
      this.#sending.delete(row.executionId);
    }
  }

  /** Resolves when no post is on its way. */
  async settled(): Promise<void> {
    await Promise.all(this.#sending.values());
  }

  /** No posts and no retries from now on; what is left stays on disk. */
  stop(): void {
    this.#stopped.abort();
    for (const { timer } of this.#retries.values()) timer?.cancel();
  }

  async #send(row: OutboxRow, capacity: number | undefined): Promise<CompleteAnswer | null> {
    try {
      const input = capacity === undefined ? row.completion : { ...row.completion, capacity };
      const answer = await this.#options.dialer.complete(input, { signal: this.#stopped.signal });
      this.#remove(row, answer);
      return answer;
    } catch (error) {
      this.#failed(row, asRelayError(error));
      return null;
    }
  }

  #remove(row: OutboxRow, answer: CompleteAnswer): void {
    this.#retries.delete(row.executionId);
    this.#write({ table: 'outbox', id: row.executionId, row: null });
    this.#options.ports.log.info('outbox.delivered', { command_id: row.commandId, already: answer.already });
  }

  #failed(row: OutboxRow, error: RelayError): void {
    if (this.#stopped.signal.aborted) return;
    const { log, clock, random } = this.#options.ports;
    const ids = { command_id: row.commandId, code: error.code, reason: error.message };
    if (error.retry === 'never' && !NOT_ABOUT_THE_ENTRY.has(error.code)) {
      this.#retries.delete(row.executionId);
      this.#write({ table: 'outbox', id: row.executionId, row: { ...row, refused: error.message } });
      log.error('outbox.refused', ids);
      return;
    }
    log.warn('outbox.delayed', ids);
    if (!this.#options.retryByItself) return;
    const backoff = this.#retries.get(row.executionId)?.backoff ?? new Backoff(random);
    const timer = clock.after(backoff.next(), () => void this.post(row, undefined));
    this.#retries.set(row.executionId, { backoff, timer });
  }

  /** A removal that the disk refuses comes again by itself: the relay answers a second post with `already`. */
  #write(change: { table: 'outbox'; id: string; row: OutboxRow | null }): void {
    this.#options.store.commit([change]).catch((error) => {
      this.#options.ports.log.warn('outbox.not-written', { reason: asRelayError(error).message });
    });
  }
}
