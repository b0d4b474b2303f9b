/**
 * Who may call a tool: the tool calls of one run, of all its Graphs, in the order in which they were asked for.
 *
 * Owns their admission, and which of them wait for the owner. A call that waits for the owner takes no place of those
 * that work at the same time. Permissions are behind the tool host.
 */
import { isDeeperThan } from '../../protocol/json-text.ts';
import { ERROR_CHARS } from '../../protocol/limits.ts';
import type { Clock } from '../../protocol/ports.ts';
import { cleanText } from '../../protocol/text.ts';
import { type Caller, type Emit, GRAPH_ENDED } from './caller.ts';
import type { EngineLimits } from './engine-limits.ts';
import { type ToolHost, ToolRefused, type ToolRequest } from './tool-host.ts';

export interface ToolCall {
  /** In its Graph. */
  readonly id: number;
  readonly tool: string;
  readonly input: unknown;
}

export interface ToolGateOptions {
  readonly host: ToolHost;
  readonly clock: Clock;
  readonly commandId: string;
  readonly runId: string;
  readonly limits: Pick<EngineLimits, 'toolsAtOnce' | 'toolOutputChars' | 'resultDepth'>;
  readonly emit: Emit;
  /** A call has started or finished, or an approval was asked for or decided. */
  readonly onChange: () => void;
}

interface WaitingCall extends ToolCall {
  readonly caller: Caller;
  /** In the run. */
  readonly number: number;
}

interface RunningCall extends WaitingCall {
  readonly abort: AbortController;
  readonly startedAt: number;
  /** Approvals that the owner has not decided. */
  readonly approvals: Set<string>;
}

export class ToolGate {
  readonly #options: ToolGateOptions;
  #waiting: WaitingCall[] = [];
  readonly #running = new Set<RunningCall>();
  readonly #calls = new Map<RunningCall, Promise<void>>();
  #asked = 0;

  constructor(options: ToolGateOptions) {
    this.#options = options;
  }

  /** Calls that wait for the owner. */
  get parked(): number {
    return [...this.#running].filter(({ approvals }) => approvals.size > 0).length;
  }

  /** Calls that work. */
  get working(): number {
    return this.#running.size - this.parked;
  }

  request(call: ToolCall, caller: Caller): void {
    this.#asked += 1;
    const waiting = { ...call, caller, number: this.#asked };
    const limit = caller.allowance.take('toolCalls');
    const problem = limit === null ? caller.toolProblem(call.tool) : null;
    if (limit !== null) this.#refuse(waiting, 'ToolLimitExceeded', `a run can call ${limit} tools and no more`);
    else if (problem !== null) this.#refuse(waiting, 'ToolRefused', problem);
    else this.#waiting.push(waiting);
    this.#admit();
  }

  /** Gives up what this Graph has asked for. Resolves when each call has let go; never rejects. */
  async close(caller: Caller): Promise<void> {
    this.#waiting = this.#waiting.filter((call) => call.caller !== caller);
    const calls: (Promise<void> | undefined)[] = [];
    for (const call of this.#running) {
      if (call.caller !== caller) continue;
      calls.push(this.#calls.get(call));
      this.#finish(call, { ok: false, output: null, error: GRAPH_ENDED });
      call.abort.abort(new Error(GRAPH_ENDED));
    }
    this.#admit();
    await Promise.all(calls);
  }

  #admit(): void {
    while (this.working < this.#options.limits.toolsAtOnce) {
      const index = this.#waiting.findIndex(({ caller }) => !caller.ended);
      const [call] = index < 0 ? [] : this.#waiting.splice(index, 1);
      if (call === undefined) return;
      this.#start(call);
    }
  }

  #refuse(call: WaitingCall, errorName: 'ToolRefused' | 'ToolLimitExceeded', reason: string): void {
    this.#options.emit({ type: 'tool_refused', call: call.number, tool: call.tool, reason }, call.caller);
    call.caller.answer({ id: call.id, text: reason, error: { name: errorName, final: true } });
  }

  #start(waiting: WaitingCall): void {
    const startedAt = this.#options.clock.monotonic();
    const call: RunningCall = { ...waiting, abort: new AbortController(), startedAt, approvals: new Set() };
    this.#running.add(call);
    const { number, tool, input, caller } = call;
    this.#options.emit({ type: 'tool_started', call: number, tool, input }, caller);
    this.#options.onChange();
    // Ended by who heard of its start.
    if (!this.#running.has(call)) return;
    this.#calls.set(
      call,
      this.#call(call).finally(() => this.#calls.delete(call)),
    );
  }

  /** Never rejects: a failure is an answer. */
  async #call(call: RunningCall): Promise<void> {
    let output: unknown;
    let json: string;
    try {
      output = await this.#options.host.call(this.#requestOf(call));
      json = this.#jsonOf(output);
    } catch (error) {
      this.#fail(call, error);
      return;
    }
    if (!this.#running.has(call)) return;
    this.#finish(call, { ok: true, output, error: null });
    call.caller.answer({ id: call.id, text: json, error: null });
    this.#admit();
  }

  #requestOf(call: RunningCall): ToolRequest {
    const { commandId, runId } = this.#options;
    const { number, tool, input, abort } = call;
    const onEvent: ToolRequest['onEvent'] = (event) => this.#onApproval(call, event);
    return { commandId, runId, call: number, tool, input, signal: abort.signal, onEvent };
  }

  #onApproval(call: RunningCall, event: Parameters<ToolRequest['onEvent']>[0]): void {
    if (!this.#running.has(call)) return;
    if (event.type === 'approval_asked') call.approvals.add(event.approval);
    else call.approvals.delete(event.approval);
    this.#options.emit(event, call.caller);
    this.#options.onChange();
    this.#admit();
  }

  #jsonOf(output: unknown): string {
    const { toolOutputChars, resultDepth } = this.#options.limits;
    const json = JSON.stringify(output) ?? 'null';
    if (json.length > toolOutputChars) {
      throw new RangeError(`the tool gave ${json.length} characters of JSON; at most ${toolOutputChars} are taken`);
    }
    if (isDeeperThan(output, resultDepth))
      throw new RangeError(`the tool's value is deeper than ${resultDepth} levels`);
    return json;
  }

  #fail(call: RunningCall, error: unknown): void {
    if (!this.#running.has(call)) return;
    if (error instanceof ToolRefused) {
      this.#leave(call);
      this.#refuse(call, 'ToolRefused', cleanText(error.message, ERROR_CHARS) || 'the tool was refused');
    } else {
      const reason = cleanText(error, ERROR_CHARS) || 'the tool failed without a reason';
      this.#finish(call, { ok: false, output: null, error: reason });
      call.caller.answer({ id: call.id, text: reason, error: { name: 'ToolError', final: false } });
    }
    this.#admit();
  }

  #finish(call: RunningCall, end: { ok: boolean; output: unknown; error: string | null }): void {
    this.#leave(call);
    const { number, tool, caller } = call;
    const duration = Math.max(0, Math.round(this.#options.clock.monotonic() - call.startedAt));
    this.#options.emit({ type: 'tool_finished', call: number, tool, ...end, duration_ms: duration }, caller);
  }

  #leave(call: RunningCall): void {
    this.#running.delete(call);
    this.#options.onChange();
  }
}
