/**
 * Removes what has expired, so that the state does not grow with every code that was ever made.
 *
 * Owns the timer. Nothing depends on it: whether something is valid is looked at when it is used.
 */
import type { Clock, Log, Timer } from '../../protocol/ports.ts';
import type { Connections } from './connections.ts';
import type { OAuthStore } from './oauth-store.ts';

const SWEEP_MS = 10 * 60_000;
/** Rows that one commit removes. Larger: somebody's ticket waits for it. */
const ROWS_PER_COMMIT = 50;

export interface SweeperOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly oauth: OAuthStore;
  readonly connections: Connections;
}

export class Sweeper {
  readonly #options: SweeperOptions;
  #timer: Timer | null = null;
  #stopped = false;

  constructor(options: SweeperOptions) {
    this.#options = options;
    this.#arm();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  async sweep(): Promise<void> {
    const { oauth, connections } = this.#options;
    const expired = [...oauth.expired()];
    for (let start = 0; start < expired.length && !this.#stopped; start += ROWS_PER_COMMIT) {
      await oauth.forget(expired.slice(start, start + ROWS_PER_COMMIT));
    }
    await connections.sweep();
  }

  #arm(): void {
    const { clock, log } = this.#options;
    this.#timer = clock.after(SWEEP_MS, () => {
      void this.sweep()
        .catch((error: unknown) => log.warn('oauth.sweep-failed', { err: error }))
        .finally(() => {
          if (!this.#stopped) this.#arm();
        });
    });
  }
}
