/**
 * The waves of a run: which agents were asked for together.
 *
 * Owns their numbers and their two events. The agents that a Graph asks for without waiting in between are one wave,
 * and so is all that the run asks for before each agent of that wave has ended. A `parallel` of ten agents is one wave,
 * whatever the concurrency and however quick the answers are.
 */
import type { Clock } from '../../protocol/ports.ts';
import type { GraphEvent } from '../run-events.ts';
import type { Caller } from './caller.ts';

interface Wave {
  readonly number: number;
  readonly startedAt: number;
  agents: number;
  tokens: number;
  /** Stretches of computing that asked for agents of this wave and are not over: they may ask for more. */
  readonly open: Map<Caller, number>;
}

export interface WavesOptions {
  readonly clock: Clock;
  readonly emit: (event: GraphEvent) => void;
  /** Whether an agent runs or waits to. */
  readonly busy: () => boolean;
}

export class Waves {
  readonly #options: WavesOptions;
  /** How far each Graph has waited: the last stretch of computing that is over. */
  readonly #over = new Map<Caller, number>();
  #last = 0;
  #wave: Wave | null = null;

  constructor(options: WavesOptions) {
    this.#options = options;
  }

  /** An agent starts that was asked for in this stretch of computing. Gives its wave's number. */
  started(caller: Caller, slice: number): number {
    const wave = this.#wave ?? this.#begin();
    wave.agents += 1;
    if ((this.#over.get(caller) ?? -1) < slice) wave.open.set(caller, slice);
    return wave.number;
  }

  finished(tokens: number): void {
    if (this.#wave !== null) this.#wave.tokens += tokens;
  }

  /** The Graph waits, after this stretch of computing; or it has ended. */
  waits(caller: Caller, slice: number): void {
    this.#over.set(caller, slice);
    const open = this.#wave?.open.get(caller);
    if (open !== undefined && open <= slice) this.#wave?.open.delete(caller);
    this.look();
  }

  ended(caller: Caller): void {
    this.waits(caller, Number.POSITIVE_INFINITY);
    this.#over.delete(caller);
  }

  /** Ends the wave when all of it has ended. */
  look(): void {
    const wave = this.#wave;
    if (wave === null || wave.open.size > 0 || this.#options.busy()) return;
    this.#wave = null;
    const { number, agents, tokens } = wave;
    const duration = Math.max(0, Math.round(this.#options.clock.monotonic() - wave.startedAt));
    this.#options.emit({ type: 'wave_finished', wave: number, agents, tokens, duration_ms: duration });
  }

  #begin(): Wave {
    this.#last += 1;
    const { clock, emit } = this.#options;
    this.#wave = { number: this.#last, startedAt: clock.monotonic(), agents: 0, tokens: 0, open: new Map() };
    emit({ type: 'wave_started', wave: this.#last });
    return this.#wave;
  }
}
