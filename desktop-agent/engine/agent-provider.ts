/**
 * The port behind `agent(prompt, options)`: who answers a prompt.
 *
 * Owns the shape, and the estimate for providers that are not told how many tokens were used. Providers live in
 * `providers/`; they know nothing of budgets and concurrency, which the engine decides before it asks.
 */

export interface AgentRequest {
  readonly prompt: string;
  /** What to call this agent in events and messages. */
  readonly label: string;
  /** The model that the Graph asked for; a provider with one model ignores it. */
  readonly model?: string;
  /** Aborted when the answer is not wanted any more. The provider then stops its work and rejects. */
  readonly signal: AbortSignal;
  /** The run's id, as in `fleet_started`. */
  readonly runId: string;
}

export interface AgentReply {
  readonly text: string;
  /** Tokens of prompt and answer together. */
  readonly tokens: number;
  /** What the call cost in US dollars, when the provider says so. */
  readonly costUsd?: number;
}

export interface AgentProvider {
  /** Rejects with an error whose message tells a person what went wrong. */
  ask(request: AgentRequest): Promise<AgentReply>;
}

/** About four characters make a token in English text. An estimate, for providers that report nothing. */
const CHARS_PER_TOKEN = 4;

export function estimateTokens(prompt: string, answer: string): number {
  return Math.ceil((prompt.length + answer.length) / CHARS_PER_TOKEN);
}
