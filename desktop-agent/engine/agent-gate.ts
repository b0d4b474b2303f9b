/**
 * Who may start: the agents of one run, their budget and their concurrency.
 *
 * Owns the admission of agents and what they used. It does not know the sandbox: calls come in by `request`, answers
 * go out by `answer`.
 *
 * Budget: the ceiling is checked at the moment an agent would start, whether it had to wait or not. When what was spent
 * has reached the ceiling the agent is refused; what runs finishes, even above it.
 *
 * Waves: the agents that a Graph asks for without waiting in between are one wave, and so is all that it asks for
 * before each agent of that wave has ended. A `parallel` of ten agents is one wave, whatever the concurrency and however
 * quick the answers are.
 */
import { ERROR_CHARS } from '../../protocol/limits.ts';
import type { Clock } from '../../protocol/ports.ts';
import { cleanText } from '../../protocol/text.ts';
import type { GraphEvent } from '../run-events.ts';
import { AgentFailure, type AgentProvider, type AgentReply } from './agent-provider.ts';

export interface AgentCall {
  readonly id: number;
  /** Calls with the same number were made together, without waiting in between. */
  readonly slice: number;
  readonly prompt: string;
  readonly label: string;
  readonly model: string | null;
}

/** How a call ended; `errorName` is the name of the error that the Graph gets, null for an answer. */
export interface AgentAnswer {
  readonly id: number;
  readonly text: string;
  readonly errorName: 'AgentError' | 'BudgetExceeded' | null;
  readonly spent: number;
}

export interface AgentGateOptions {
  readonly provider: AgentProvider;
  readonly clock: Clock;
  readonly runId: string;
  /** Agents at the same time. */
  readonly concurrency: number;
  /** Token ceiling; null for none. */
  readonly total: number | null;
  readonly answerChars: number;
  readonly emit: (event: GraphEvent) => void;
  readonly answer: (answer: AgentAnswer) => void;
}

/** What a call used up; `costUsd` in US dollars, when the provider says so. */
interface Paid {
  readonly tokens: number;
  readonly costUsd?: number | undefined;
}

type AgentEnd = { readonly answer: string; readonly error: null } | { readonly answer: null; readonly error: string };

const RUN_ENDED = 'the run has ended';

interface RunningAgent {
  readonly call: AgentCall;
  readonly abort: AbortController;
  readonly startedAt: number;
}

export class AgentGate {
  readonly #options: AgentGateOptions;
  readonly #waiting: AgentCall[] = [];
  readonly #running = new Map<number, RunningAgent>();
  readonly #asks = new Set<Promise<void>>();
  #closed = false;
  #wave = 0;
  #waveSlice = -1;
  #spent = 0;
  #cost: number | null = null;

  constructor(options: AgentGateOptions) {
    this.#options = options;
  }

  /** Tokens of all agents that finished. */
  get spent(): number {
    return this.#spent;
  }

  /** US dollars; null when no provider said what its call cost. */
  get cost(): number | null {
    return this.#cost;
  }

  request(call: AgentCall): void {
    if (this.#closed) return;
    const nothingOpen = this.#running.size === 0 && this.#waiting.length === 0;
    if (nothingOpen && call.slice !== this.#waveSlice) this.#wave += 1;
    this.#waveSlice = call.slice;
    this.#waiting.push({ ...call, label: call.label === '' ? `agent ${call.id}` : call.label });
    this.#admit();
  }

  /** Refuses what waits and aborts what runs. Resolves when each provider has let go; it never rejects. */
  async close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      this.#waiting.length = 0;
      for (const agent of [...this.#running.values()]) {
        this.#finish(agent, { ok: false, tokens: 0, cost: null, answer: null, error: RUN_ENDED });
        agent.abort.abort(new Error(RUN_ENDED));
      }
    }
    await Promise.all(this.#asks);
  }

  #admit(): void {
    while (!this.#closed && this.#running.size < this.#options.concurrency) {
      const call = this.#waiting.shift();
      if (call === undefined) return;
      if (this.#budgetIsSpent()) this.#refuse(call);
      else this.#start(call);
    }
  }

  #budgetIsSpent(): boolean {
    return this.#options.total !== null && this.#spent >= this.#options.total;
  }

  #refuse(call: AgentCall): void {
    const reason = `the budget of ${this.#options.total} tokens is spent (${this.#spent} used): ${call.label} was not started`;
    this.#options.emit({ type: 'agent_refused', label: call.label, reason });
    this.#options.answer({ id: call.id, text: reason, errorName: 'BudgetExceeded', spent: this.#spent });
  }

  #start(call: AgentCall): void {
    const agent = { call, abort: new AbortController(), startedAt: this.#options.clock.monotonic() };
    this.#running.set(call.id, agent);
    const { id, label, model, prompt } = call;
    this.#options.emit({ type: 'agent_started', agent: id, label, wave: this.#wave, model, prompt });
    const ask = this.#ask(agent).finally(() => this.#asks.delete(ask));
    this.#asks.add(ask);
  }

  /** Never rejects: a provider's failure is an answer. */
  async #ask(agent: RunningAgent): Promise<void> {
    const { call, abort } = agent;
    let reply: AgentReply;
    try {
      const { prompt, label, model } = call;
      const request = { prompt: prompt.toWellFormed(), label, signal: abort.signal, runId: this.#options.runId };
      reply = this.#checked(await this.#options.provider.ask(model === null ? request : { ...request, model }));
    } catch (error) {
      this.#settle(agent, error instanceof AgentFailure ? error : { tokens: 0 }, {
        answer: null,
        error: cleanText(error, ERROR_CHARS) || 'the agent failed without a reason',
      });
      return;
    }
    this.#settle(agent, reply, { answer: reply.text, error: null });
  }

  /** A provider is the owner's, and may still be wrong: what it says goes into sums and into the Graph. */
  #checked(reply: AgentReply): AgentReply {
    const { answerChars } = this.#options;
    if (typeof reply?.text !== 'string') throw new TypeError('the provider gave no text');
    if (reply.text.length > answerChars) throw new RangeError(`the answer is longer than ${answerChars} characters`);
    if (!(Number.isFinite(reply.tokens) && reply.tokens >= 0)) throw new TypeError('the provider gave no token count');
    return reply;
  }

  #settle(agent: RunningAgent, paid: Paid, end: AgentEnd): void {
    if (this.#closed) return;
    const tokens = Math.ceil(paid.tokens);
    this.#spent += tokens;
    const said = paid.costUsd;
    const cost = said !== undefined && Number.isFinite(said) && said >= 0 ? said : null;
    if (cost !== null) this.#cost = (this.#cost ?? 0) + cost;
    this.#finish(agent, { ok: end.error === null, tokens, cost, ...end });
    const { id } = agent.call;
    const spent = this.#spent;
    if (end.error === null) this.#options.answer({ id, text: end.answer, errorName: null, spent });
    else this.#options.answer({ id, text: end.error, errorName: 'AgentError', spent });
    this.#admit();
  }

  #finish(agent: RunningAgent, end: AgentEnd & { ok: boolean; tokens: number; cost: number | null }): void {
    this.#running.delete(agent.call.id);
    const duration = Math.max(0, Math.round(this.#options.clock.monotonic() - agent.startedAt));
    this.#options.emit({ type: 'agent_finished', agent: agent.call.id, ...end, duration_ms: duration });
  }
}
