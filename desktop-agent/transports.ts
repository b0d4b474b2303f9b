/**
 * The transport in use: the policy applied to what the loop sees, and the calls sent where it says.
 *
 * Owns the transport's state, in memory only, and the trials of what would be better. Every call of the desktop goes
 * through here, so a completion takes whatever way works at that moment.
 */
import type { TransportName } from '../protocol/api.ts';
import { asRelayError, type RelayError } from '../protocol/errors.ts';
import { HOLD_MARGIN_MS } from '../protocol/limits.ts';
import type { Ports } from '../protocol/ports.ts';
import { FIXED_MODES, heldAtMost, type ModeName, modeOf, type RelayMode } from './modes.ts';
import type { Dialer } from './ports.ts';
import { betterThan, nextTransport, startWith, type TransportEvent, type TransportState } from './transport-policy.ts';

export type Dialers = Readonly<Record<TransportName, Dialer>>;

export interface TransportsOptions {
  readonly ports: Pick<Ports, 'clock' | 'log'>;
  readonly dialers: Dialers;
  readonly mode: ModeName;
  /** Longest hold to ask for. */
  readonly maxHoldMs: number;
}

export interface TransportSnapshot {
  readonly transport: TransportName;
  readonly reason: string;
  readonly hold_ms: number;
  readonly holds_cut: number;
  /** Milliseconds until something better is tried again; null while there is nothing better. */
  readonly retry_in_ms: number | null;
}

/** What a failed sync says about the transport. */
export interface SyncFailure {
  /** A hold was cut: the connection is bad for holds, which does not mean that the relay is away. */
  readonly holdCut: boolean;
  /** The way to ask has changed, so the next sync need not wait. */
  readonly otherWay: boolean;
}

export class Transports {
  readonly #options: TransportsOptions;
  readonly #fixed: RelayMode | null;
  readonly #stopped = new AbortController();
  #state: TransportState;
  /** Whether the WebSocket in use has brought an answer. */
  #socketWorked = false;
  #trialGoesOn = false;

  constructor(options: TransportsOptions) {
    this.#options = options;
    this.#state = startWith(options.maxHoldMs);
    this.#fixed = options.mode === 'auto' ? null : FIXED_MODES[options.mode];
  }

  /** How to ask for work now. */
  get mode(): RelayMode {
    return heldAtMost(this.#fixed ?? modeOf(this.#state), this.#options.maxHoldMs);
  }

  /** Sends each call over the transport of that moment. */
  readonly dialer: Dialer = {
    sync: (input, at) => this.#dialer.sync(input, at),
    control: (input, at) => this.#dialer.control(input, at),
    complete: async (input, at) => {
      const { name } = this.mode;
      try {
        return await this.#dialer.complete(input, at);
      } catch (error) {
        // The same frame would end the next WebSocket too; a request has room for more than a frame may have.
        if (name !== 'websocket' || asRelayError(error).code !== 'too-large') throw error;
        return this.#options.dialers.plain.complete(input, at);
      }
    },
    probe: (input, at) => this.#dialer.probe(input, at),
  };

  get #dialer(): Dialer {
    return this.#options.dialers[this.mode.name];
  }

  /** Before a sync: is it time to try something better? The trial goes on beside the sync. */
  beforeSync(): void {
    const { trialAt } = this.#state;
    const isDue = trialAt !== null && this.#options.ports.clock.monotonic() >= trialAt;
    if (isDue && this.#fixed === null && !this.#trialGoesOn) void this.#trial();
  }

  /** The machine woke, or its network is another: whatever was learned of the path may be wrong now. */
  pathChanged(why: 'woke' | 'network-changed'): void {
    for (const dialer of Object.values(this.#options.dialers)) dialer.renew?.();
    this.#apply({ type: 'path-changed', why });
  }

  syncAnswered(heldMs: number): void {
    if (this.mode.name === 'websocket') this.#socketWorked = true;
    this.#apply({ type: 'answered', heldMs });
  }

  syncFailed(error: RelayError, asked: { heldMs: number; holdMs: number }): SyncFailure {
    const before = this.#state;
    const event = this.#eventOf(error, asked);
    if (event !== null) this.#apply(event);
    this.#socketWorked = false;
    const changed = this.#state.transport !== before.transport || this.#state.holdMs !== before.holdMs;
    return {
      holdCut: event?.type === 'hold-cut',
      // Back to a transport that failed before, because none works: that has to wait like any other attempt.
      otherWay: this.#fixed === null && changed && event?.type !== 'unreachable',
    };
  }

  /** Ends a trial that goes on, so that it does not keep the process. */
  stop(): void {
    this.#stopped.abort();
  }

  snapshot(): TransportSnapshot {
    const { transport, reason, holdMs, holdsCut, trialAt } = this.#state;
    if (this.#fixed !== null) {
      const { name, holdMs: hold_ms } = this.mode;
      return { transport: name, reason: 'the owner chose it', hold_ms, holds_cut: holdsCut, retry_in_ms: null };
    }
    const retry_in_ms =
      trialAt === null ? null : Math.max(0, Math.round(trialAt - this.#options.ports.clock.monotonic()));
    return { transport, reason, hold_ms: transport === 'plain' ? 0 : holdMs, holds_cut: holdsCut, retry_in_ms };
  }

  #eventOf(error: RelayError, { heldMs, holdMs }: { heldMs: number; holdMs: number }): TransportEvent | null {
    const { code } = error;
    const why = error.message.replace(/\.$/, '');
    const noAnswer = code === 'unreachable' || code === 'not-a-relay' || code === 'deadline-exceeded';
    if (this.mode.name === 'websocket') {
      if (!noAnswer && code !== 'too-large') return null;
      return { type: this.#socketWorked ? 'socket-lost' : 'socket-refused', why };
    }
    if (!noAnswer) return null;
    const silent = code === 'deadline-exceeded';
    return holdMs > 0 ? { type: 'hold-cut', afterMs: heldMs, silent, why } : { type: 'unreachable', silent };
  }

  /** Probes what is better, best first, while work goes on over the fallback: no command ever waits for a trial. */
  async #trial(): Promise<void> {
    this.#trialGoesOn = true;
    const better = betterThan(this.#state);
    let worked: TransportName | undefined;
    for (const transport of better) {
      if (worked === undefined && (await this.#probe(transport))) worked = transport;
    }
    this.#trialGoesOn = false;
    if (this.#stopped.signal.aborted) return;
    this.#apply(worked === undefined ? { type: 'trial-failed' } : { type: 'trial-worked', transport: worked });
  }

  async #probe(transport: TransportName): Promise<boolean> {
    // As long as a real hold at most is: a proxy whose limit is the hold itself must not fail the trial.
    const input = { hold_ms: this.#options.maxHoldMs - HOLD_MARGIN_MS };
    try {
      await this.#options.dialers[transport].probe(input, { signal: this.#stopped.signal });
      return true;
    } catch (error) {
      this.#options.ports.log.debug('transport.trial-failed', { transport, reason: asRelayError(error).message });
      return false;
    }
  }

  #apply(event: TransportEvent): void {
    const before = this.#state;
    this.#state = nextTransport(before, event, this.#options.ports.clock.monotonic());
    const { transport, holdMs, reason } = this.#state;
    if (this.#fixed !== null || (before.transport === transport && before.holdMs === holdMs)) return;
    this.#options.ports.log.warn('transport.changed', {
      from: before.transport,
      to: transport,
      hold_ms: holdMs,
      reason,
    });
  }
}
