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
import { type Caller, type Emit, GRAPH_ENDED } from './caller.ts';
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
  /** What it used up, as far as the provider has said. */
  tokens: number;
  cost: number | null;
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
      this.#finish(agent, { answer: null, error: GRAPH_ENDED });
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

  /** In the order of asking, but past those whose Graph has no room or is ending. */
  #next(): WaitingAgent | undefined {
    const index = this.#waiting.findIndex(({ caller }) => !caller.ended && caller.allowance.hasRoom());
    return index < 0 ? undefined : this.#waiting.splice(index, 1)[0];
  }

  #refuse({ call, caller }: WaitingAgent, errorName: string, why: string): void {
    const reason = `${why}: ${call.label} was not started`;
    this.#options.emit({ type: 'agent_refused', label: call.label, reason }, caller);
    caller.answer({ id: call.id, text: reason, error: { name: errorName, final: true } });
  }

  #start(waiting: WaitingAgent): void {
    const { call, caller, number } = waiting;
    const startedAt = this.#options.clock.monotonic();
    const agent: RunningAgent = { ...waiting, abort: new AbortController(), startedAt, tokens: 0, cost: null };
    this.#running.add(agent);
    caller.allowance.agentStarted();
    const wave = this.#options.waves.started(caller, call.slice);
    const { label, model, prompt, schema } = call;
    const started = { type: 'agent_started', agent: number, label, wave, model, prompt } as const;
    this.#options.emit(schema === null ? started : { ...started, schema }, caller);
    this.#options.onChange();
    // Ended by who heard of its start.
    if (!this.#running.has(agent)) return;
    this.#asks.set(
      agent,
      this.#ask(agent).finally(() => this.#asks.delete(agent)),
    );
  }

  /** Never rejects: a provider's failure is an answer. */
  async #ask(agent: RunningAgent): Promise<void> {
    try {
      const reply = this.#checked(await this.#options.provider.ask(this.#requestOf(agent)));
      this.#pay(agent, reply);
      await this.#refuseMisfit(agent, reply.text);
      this.#settle(agent, { answer: reply.text, error: null });
    } catch (error) {
      if (error instanceof AgentFailure) this.#pay(agent, error);
      const reason = cleanText(error, ERROR_CHARS) || 'the agent failed without a reason';
      this.#settle(agent, { answer: null, error: reason });
    }
  }

  /** What happens to the answer changes nothing of its price. */
  #pay(agent: RunningAgent, { tokens, costUsd }: Paid): void {
    agent.tokens = Number.isFinite(tokens) && tokens >= 0 ? Math.ceil(tokens) : 0;
    if (costUsd !== undefined && Number.isFinite(costUsd) && costUsd >= 0) agent.cost = costUsd;
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

  #settle(agent: RunningAgent, end: AgentEnd): void {
    if (!this.#running.has(agent)) return;
    this.#finish(agent, end);
    const { caller, call } = agent;
    if (end.error === null) caller.answer({ id: call.id, text: end.answer, error: null });
    else caller.answer({ id: call.id, text: end.error, error: { name: 'AgentError', final: false } });
    this.#admit();
  }

  #finish(agent: RunningAgent, end: AgentEnd): void {
    this.#running.delete(agent);
    const { caller, number, tokens, cost, startedAt } = agent;
    caller.allowance.agentFinished();
    // With the event and not before: what a Graph sees of its budget follows from the events, so that a replay sees the same.
    caller.allowance.spend(tokens);
    if (cost !== null) this.#cost = (this.#cost ?? 0) + cost;
    const duration = Math.max(0, Math.round(this.#options.clock.monotonic() - startedAt));
    const ok = end.error === null;
    this.#options.emit(
      { type: 'agent_finished', agent: number, ok, tokens, cost, ...end, duration_ms: duration },
      caller,
    );
    this.#options.waves.finished(tokens);
    this.#options.onChange();
  }
}
