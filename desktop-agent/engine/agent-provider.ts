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
  /** JSON Schema of the answer that is wanted; without it, the answer is text. */
  readonly schema?: Readonly<Record<string, unknown>>;
  /**
   * What is wrong with an answer for the schema; null when it fits. It is checked in the Graph's own worker, since a
   * schema that a Graph has made may take for ever: a provider must not check on this thread. There with `schema`.
   */
  readonly problemOf?: (answer: string) => Promise<string | null>;
  /** Aborted when the answer is not wanted any more. The provider then stops its work and rejects. */
  readonly signal: AbortSignal;
  /** The run's id, as in `fleet_started`. */
  readonly runId: string;
}

export interface AgentReply {
  /** The answer; JSON text that fits the schema when there was one. */
  readonly text: string;
  /** Tokens of prompt and answer together. */
  readonly tokens: number;
  /** What the call cost in US dollars, when the provider says so. */
  readonly costUsd?: number;
}

/**
 * A failure that was paid for: its tokens count like those of an answer. It has no name of its own: what it says becomes
 * the message of a Graph's `AgentError`.
 */
export class AgentFailure extends Error {
  readonly tokens: number;
  readonly costUsd: number | undefined;

  constructor(message: string, paid: { readonly tokens: number; readonly costUsd?: number | undefined }) {
    super(message);
    this.tokens = paid.tokens;
    this.costUsd = paid.costUsd;
  }
}

export interface AgentProvider {
  /** Rejects with an error whose message tells a person what went wrong; an {@link AgentFailure} when it was paid for. */
  ask(request: AgentRequest): Promise<AgentReply>;
}

/** About four characters make a token in English text. An estimate, for providers that report nothing. */
const CHARS_PER_TOKEN = 4;

export function estimateTokens(prompt: string, answer: string): number {
  return Math.ceil((prompt.length + answer.length) / CHARS_PER_TOKEN);
}
