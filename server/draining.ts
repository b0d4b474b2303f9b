/**
 * The relay's last seconds: how those who wait are sent home.
 *
 * Agents get the present state at once. Desktops are answered one by one over a moment, and each is told another time
 * to come back, so that they do not fall on the next process within the same second. From the first moment on nothing
 * is offered: a command that goes out now could only be lost. Owns the flag that all calls look at.
 */
import { RelayError } from '../protocol/errors.ts';
import { DRAIN_SPREAD_MS, DRAIN_STEP_MS, RECONNECT_SPREAD_MAX_MS, RECONNECT_STEP_MS } from '../protocol/limits.ts';
import type { Ports } from '../protocol/ports.ts';
import { pause } from '../protocol/waiting.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { HeldRequests } from './held-requests.ts';

export interface DrainingOptions {
  readonly ports: Pick<Ports, 'clock' | 'random'>;
  readonly dispatcher: Dispatcher;
  /** Controls and probes of desktops. */
  readonly held: HeldRequests;
  /** Calls of agents that wait for news of a run. */
  readonly waits: HeldRequests;
}

const NEVER = new AbortController().signal;

/**
 * A desktop that comes while the relay is about to stop comes again after this. Shorter: where the disk is slow, it asks
 * dozens of times before the process has gone.
 */
const AGAIN_MS = 250;

export class Draining {
  readonly #options: DrainingOptions;
  #begun = false;
  #windowMs = RECONNECT_STEP_MS;

  constructor(options: DrainingOptions) {
    this.#options = options;
  }

  get begun(): boolean {
    return this.#begun;
  }

  /** When a desktop that comes by now is to come again. */
  nextSyncMs(): number {
    return AGAIN_MS + Math.ceil(this.#options.ports.random.next() * this.#windowMs);
  }

  /** Resolves when nothing is held any more. */
  async begin(): Promise<void> {
    this.#begun = true;
    const { ports, dispatcher, held, waits } = this.#options;
    dispatcher.close();
    waits.releaseAll();
    const holds = [...dispatcher.syncs.open()].map(([, hold]) => hold);
    this.#windowMs = Math.min(RECONNECT_SPREAD_MAX_MS, RECONNECT_STEP_MS * Math.max(1, holds.length));
    const stepMs = Math.min(DRAIN_STEP_MS, DRAIN_SPREAD_MS / holds.length);
    for (const [index, hold] of holds.entries()) {
      if (index > 0) await pause(ports.clock, stepMs, NEVER);
      // Nobody comes back to a relay that still sends others home: the call would cross the end of its WebSocket.
      const restMs = (holds.length - 1 - index) * stepMs;
      // Each gets a slot of its own within the window, and a moment of its own within the slot.
      const slot = (index + ports.random.next()) / holds.length;
      hold.answerWith({ ...hold.answerFor([]), next_sync_ms: Math.ceil(restMs + slot * this.#windowMs) });
    }
    // An error and not an empty answer: those would be asked again at once, and an error is waited out.
    held.failAll(shuttingDown());
  }
}

export function shuttingDown(): RelayError {
  return new RelayError('shutting-down', 'The relay is about to stop. Try again in a few seconds.');
}
