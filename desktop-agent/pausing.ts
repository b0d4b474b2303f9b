/**
 * Whether the owner has paused this desktop: it takes no new commands, what runs goes on, and what is queued stays queued
 * at the relay.
 *
 * Owns the row of table `pause`, so that a pause outlasts a restart.
 */
import type { Clock, StateStore } from '../protocol/ports.ts';
import { type DesktopTables, THE_PAUSE } from './rows.ts';

export class Pausing {
  readonly #store: StateStore<DesktopTables>;
  readonly #clock: Clock;
  readonly #onChange: () => void;

  constructor(options: { store: StateStore<DesktopTables>; clock: Clock; onChange: () => void }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#onChange = options.onChange;
  }

  /** Since when, epoch milliseconds; null while it is not paused. */
  get since(): number | null {
    return this.#store.rows('pause').get(THE_PAUSE)?.at ?? null;
  }

  /** Resolves when that is on disk. False when it was so before. */
  pause(): Promise<boolean> {
    return this.#set(true);
  }

  resume(): Promise<boolean> {
    return this.#set(false);
  }

  async #set(paused: boolean): Promise<boolean> {
    if ((this.since !== null) === paused) return false;
    const row = paused ? { at: this.#clock.now() } : null;
    const durable = this.#store.commit([{ table: 'pause', id: THE_PAUSE, row }]);
    // At once, whatever the disk does: the owner has said so.
    this.#onChange();
    await durable;
    return true;
  }
}
