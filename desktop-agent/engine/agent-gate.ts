/**
 * Who may start: the agents of one run, of all its Graphs, in the order in which they were asked for.
 *
 * Owns the admission of agents and what they cost. It does not know the sandbox: calls come in by `request`, answers go
 * out by the caller's `answer`.
 *
 * Budget: the ceiling is checked at the moment an agent would start, whether it had to wait or not. When what was spent
 * has reached the ceiling the agent is refused; what runs finishes, even above it.
 */
import { ERROR_CHARS } from '../../protocol/limits.ts';
import type { Clock } from '../../protocol/ports.ts';
import { cleanText } from '../../protocol/text.ts';
import { AgentFailure, type AgentProvider, type AgentReply, type AgentRequest } from './agent-provider.ts';
import { type CallAnswer, type Caller, type Emit, GRAPH_ENDED } from './caller.ts';
import type { Waves } from './waves.ts';

export interface AgentCall {
  /** In its Graph. */
  readonly id: number;
  /** Calls with the same number were made together, without waiting in between. */
  readonly slice: number;
  readonly prompt: string;
  readonly label: string;
  readonly model: string | null;
  /** JSON Schema of the answer; null for text. */
  readonly schema: Readonly<Record<string, unknown>> | null;
}

export interface AgentGateOptions {
  readonly provider: AgentProvider;
  readonly clock: Clock;
  readonly runId: string;
  readonly answerChars: number;
  readonly waves: Waves;
  readonly emit: Emit;
  /** An agent has started or finished. */
  readonly onChange: () => void;
}

/** What a call used up; `costUsd` in US dollars, when the provider says so. */
interface Paid {
  readonly tokens: number;
  readonly costUsd?: number | undefined;
}

type AgentEnd = { readonly answer: string; readonly error: null } | { readonly answer: null; readonly error: string };

interface WaitingAgent {
  readonly call: AgentCall;
  readonly caller: Caller;
  /** In the run. */
  readonly number: number;
}

interface RunningAgent extends WaitingAgent {
  readonly abort: AbortController;
  readonly startedAt: number;
}

export class AgentGate {
  readonly #options: AgentGateOptions;
  #waiting: WaitingAgent[] = [];
  readonly #running = new Set<RunningAgent>();
  readonly #asks = new Map<RunningAgent, Promise<void>>();
  #asked = 0;
  #cost: number | null = null;

  constructor(options: AgentGateOptions) {
    this.#options = options;
  }

  /** US dollars; null when no provider said what its call cost. */
  get cost(): number | null {
    return this.#cost;
  }

  get running(): number {
    return this.#running.size;
  }

  get busy(): boolean {
    return this.#running.size > 0 || this.#waiting.length > 0;
  }

  request(call: AgentCall, caller: Caller): void {
    this.#asked += 1;
    const label = call.label === '' ? `agent ${this.#asked}` : call.label;
    const agent = { call: { ...call, label }, caller, number: this.#asked };
    const limit = caller.allowance.take('agents');
    if (limit === null) this.#waiting.push(agent);
    else this.#refuse(agent, 'AgentLimitExceeded', `a run can ask ${limit} agents and no more`);
    this.#admit();
  }

  /** Refuses what this Graph waits for and aborts what it runs. Resolves when each provider has let go; never rejects. */
  async close(caller: Caller): Promise<void> {
    this.#waiting = this.#waiting.filter((agent) => agent.caller !== caller);
    const asks: (Promise<void> | undefined)[] = [];
    for (const agent of this.#running) {
      if (agent.caller !== caller) continue;
      asks.push(this.#asks.get(agent));
      this.#finish(agent, { ok: false, tokens: 0, cost: null, answer: null, error: GRAPH_ENDED });
      agent.abort.abort(new Error(GRAPH_ENDED));
    }
    this.#admit();
    await Promise.all(asks);
  }

  #admit(): void {
    for (let agent = this.#next(); agent !== undefined; agent = this.#next()) {
      const spent = agent.caller.allowance.exhausted();
      if (spent === null) this.#start(agent);
      else this.#refuse(agent, 'BudgetExceeded', `the budget of ${spent.total} tokens is spent (${spent.spent} used)`);
    }
    this.#options.waves.look();
  }

  /** In the order of asking, but past those whose Graph has no room. */
  #next(): WaitingAgent | undefined {
    const index = this.#waiting.findIndex(({ caller }) => caller.allowance.hasRoom());
    return index < 0 ? undefined : this.#waiting.splice(index, 1)[0];
  }

  #refuse({ call, caller }: WaitingAgent, errorName: string, why: string): void {
    const reason = `${why}: ${call.label} was not started`;
    this.#options.emit({ type: 'agent_refused', label: call.label, reason }, caller);
    caller.answer({ id: call.id, text: reason, errorName });
  }

  #start(waiting: WaitingAgent): void {
    const { call, caller, number } = waiting;
    const agent = { ...waiting, abort: new AbortController(), startedAt: this.#options.clock.monotonic() };
    this.#running.add(agent);
    caller.allowance.agentStarted();
    const wave = this.#options.waves.started(caller, call.slice);
    const { label, model, prompt, schema } = call;
    const started = { type: 'agent_started', agent: number, label, wave, model, prompt } as const;
    this.#options.emit(schema === null ? started : { ...started, schema }, caller);
    this.#options.onChange();
    this.#asks.set(
      agent,
      this.#ask(agent).finally(() => this.#asks.delete(agent)),
    );
  }

  /** Never rejects: a provider's failure is an answer. */
  async #ask(agent: RunningAgent): Promise<void> {
    let paid: Paid = { tokens: 0 };
    try {
      const reply = this.#checked(await this.#options.provider.ask(this.#requestOf(agent)));
      paid = reply;
      await this.#refuseMisfit(agent, reply.text);
      this.#settle(agent, paid, { answer: reply.text, error: null });
    } catch (error) {
      const reason = cleanText(error, ERROR_CHARS) || 'the agent failed without a reason';
      this.#settle(agent, error instanceof AgentFailure ? error : paid, { answer: null, error: reason });
    }
  }

  #requestOf({ call, caller, abort }: RunningAgent): AgentRequest {
    const { prompt, label, model, schema, id } = call;
    const problemOf = (answer: string): Promise<string | null> => caller.check(id, answer);
    return {
      prompt: prompt.toWellFormed(),
      label,
      signal: abort.signal,
      runId: this.#options.runId,
      ...(model === null ? {} : { model }),
      ...(schema === null ? {} : { schema, problemOf }),
    };
  }

  /** A provider is the owner's, and may still be wrong: what it says goes into sums and into the Graph. */
  #checked(reply: AgentReply): AgentReply {
    const { answerChars } = this.#options;
    if (typeof reply?.text !== 'string') throw new TypeError('the provider gave no text');
    if (reply.text.length > answerChars) throw new RangeError(`the answer is longer than ${answerChars} characters`);
    if (!(Number.isFinite(reply.tokens) && reply.tokens >= 0)) throw new TypeError('the provider gave no token count');
    return reply;
  }

  async #refuseMisfit({ call, caller, abort }: RunningAgent, text: string): Promise<void> {
    if (call.schema === null || abort.signal.aborted) return;
    const problem = await caller.check(call.id, text);
    if (problem !== null) throw new Error(`the answer does not fit the schema: ${problem}`);
  }

  #settle(agent: RunningAgent, paid: Paid, end: AgentEnd): void {
    if (!this.#running.has(agent)) return;
    const { caller, call } = agent;
    const tokens = Math.ceil(paid.tokens);
    caller.allowance.spend(tokens);
    const said = paid.costUsd;
    const cost = said !== undefined && Number.isFinite(said) && said >= 0 ? said : null;
    if (cost !== null) this.#cost = (this.#cost ?? 0) + cost;
    this.#finish(agent, { ok: end.error === null, tokens, cost, ...end });
    const answer: Omit<CallAnswer, 'id'> =
      end.error === null ? { text: end.answer, errorName: null } : { text: end.error, errorName: 'AgentError' };
    caller.answer({ id: call.id, ...answer });
    this.#admit();
  }

  #finish(agent: RunningAgent, end: AgentEnd & { ok: boolean; tokens: number; cost: number | null }): void {
    this.#running.delete(agent);
    agent.caller.allowance.agentFinished();
    const duration = Math.max(0, Math.round(this.#options.clock.monotonic() - agent.startedAt));
    const finished = { type: 'agent_finished', agent: agent.number, ...end, duration_ms: duration } as const;
    this.#options.emit(finished, agent.caller);
    this.#options.waves.finished(end.tokens);
    this.#options.onChange();
  }
}
