/**
 * Where runs get their sandbox from.
 *
 * Owns the one sandbox that is kept warm, and the count of those that live. Starting a worker takes some 100 ms of one
 * core, so the next one is started while the current run waits for its first agent, or else after it.
 */
import type { Timer } from '../../protocol/ports.ts';
import { Sandbox, type SandboxOptions } from './sandbox.ts';

/**
 * From a run's first wait (or its end) to the start of the next sandbox, so that a quick run, and the delivery of its
 * result, are over before the machine is busy with that. Longer: the next run is more often one that finds none.
 */
const WARM_UP_DELAY_MS = 50;

export interface PoolOptions extends Pick<SandboxOptions, 'clock' | 'limits'> {
  readonly keepWarm: boolean;
}

export class SandboxPool {
  readonly #options: PoolOptions;
  readonly #living = new Set<Sandbox>();
  #warm: Sandbox | null = null;
  #warmUpTimer: Timer | null = null;
  /** Resolved when the timer is over. */
  #warmingUp = Promise.withResolvers<void>();
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Sandboxes whose worker has not ended. */
  get living(): number {
    return this.#living.size;
  }

  /** Starts the sandbox of the next run, unless there is one. */
  warmUp(): void {
    if (this.#closed || !this.#options.keepWarm) return;
    if (this.#warm !== null && this.#warm.brokenReason === null) return;
    this.#warm = this.#create({ rehearse: true });
  }

  /** Resolves when the sandbox that is kept warm is ready, or there is none. */
  async warmedUp(): Promise<void> {
    if (this.#warmUpTimer !== null) await this.#warmingUp.promise;
    await this.#warm?.settled;
  }

  /** Starts it in a moment. */
  warmUpSoon(): void {
    if (this.#closed || !this.#options.keepWarm || this.#warmUpTimer !== null) return;
    this.#warmingUp = Promise.withResolvers<void>();
    this.#warmUpTimer = this.#options.clock.after(WARM_UP_DELAY_MS, () => {
      this.#warmUpTimer = null;
      this.warmUp();
      this.#warmingUp.resolve();
    });
  }

  /** A sandbox of its own for one run; the caller gives it back with {@link SandboxPool.discard}. */
  take(): Sandbox {
    const warm = this.#warm;
    this.#warm = null;
    return warm !== null && warm.brokenReason === null ? warm : this.#create({ rehearse: false });
  }

  async discard(sandbox: Sandbox): Promise<void> {
    await sandbox.end();
    this.#living.delete(sandbox);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#warm = null;
    this.#warmUpTimer?.cancel();
    this.#warmingUp.resolve();
    await Promise.all([...this.#living].map((sandbox) => this.discard(sandbox)));
  }

  #create({ rehearse }: { readonly rehearse: boolean }): Sandbox {
    const sandbox = new Sandbox({ clock: this.#options.clock, limits: this.#options.limits, rehearse });
    this.#living.add(sandbox);
    return sandbox;
  }
}
