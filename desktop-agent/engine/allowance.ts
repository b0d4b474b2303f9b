/**
 * What one Graph of a run may still take: tokens, agents, tools and called Graphs.
 *
 * Owns the counts, in a chain: what a called Graph takes counts for the Graph that called it too, so that calling
 * another Graph never gives more. It decides nothing by itself; the gates ask before they start something.
 */

export interface AllowanceLimits {
  /** Token ceiling; null for none. */
  readonly totalTokens: number | null;
  /** Agents at the same time. */
  readonly concurrency: number;
  readonly agents: number;
  readonly toolCalls: number;
  readonly graphCalls: number;
  /** Waits of `retry`. */
  readonly retries: number;
}

type Counted = 'agents' | 'toolCalls' | 'graphCalls' | 'retries';

export class Allowance {
  /** Token ceiling of this Graph: the lower of its own and of what its caller had left when it began. Null for none. */
  readonly total: number | null;
  readonly #limits: AllowanceLimits;
  readonly #caller: Allowance | null;
  readonly #taken: Record<Counted, number> = { agents: 0, toolCalls: 0, graphCalls: 0, retries: 0 };
  #spent = 0;
  #running = 0;

  constructor(limits: AllowanceLimits, caller: Allowance | null = null) {
    this.#limits = limits;
    this.#caller = caller;
    this.total = lowest(limits.totalTokens, caller?.remaining ?? null);
  }

  /** Tokens of all agents that finished, those of called Graphs included. */
  get spent(): number {
    return this.#spent;
  }

  /** Tokens until the first ceiling of the chain; null without any. */
  get remaining(): number | null {
    const own = this.total === null ? null : Math.max(0, this.total - this.#spent);
    return lowest(own, this.#caller?.remaining ?? null);
  }

  spend(tokens: number): void {
    this.#spent += tokens;
    this.#caller?.spend(tokens);
  }

  /** The Graph of the chain whose ceiling is reached; null when there is none. */
  exhausted(): Allowance | null {
    if (this.total !== null && this.#spent >= this.total) return this;
    return this.#caller?.exhausted() ?? null;
  }

  /** Takes one of `what`. Null when that was allowed, otherwise the limit that says no; then nothing is taken. */
  take(what: Counted): number | null {
    if (this.#taken[what] >= this.#limits[what]) return this.#limits[what];
    const refused = this.#caller?.take(what) ?? null;
    if (refused === null) this.#taken[what] += 1;
    return refused;
  }

  /** Whether one more agent may run now. */
  hasRoom(): boolean {
    return this.#running < this.#limits.concurrency && (this.#caller?.hasRoom() ?? true);
  }

  agentStarted(): void {
    this.#running += 1;
    this.#caller?.agentStarted();
  }

  agentFinished(): void {
    this.#running -= 1;
    this.#caller?.agentFinished();
  }
}

function lowest(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}
