/**
 * What a replay has of its record, and what it has done with it so far.
 *
 * Owns the account: what was reused, what was asked for real, what was refused, and what nobody asked for.
 */
import type { RecordedCall, RecordedCalls } from './recorded-calls.ts';
import type { ReplayOrder } from './replay-order.ts';

export interface AccountedCall {
  readonly kind: 'agent' | 'tool';
  /** The label of an agent, the name of a tool. */
  readonly name: string;
}

export interface PaidCall extends AccountedCall {
  readonly tokens: number;
  readonly cost: number | null;
}

const NOT_IN_RECORD = 'is not in the record of this run';
const NOT_ANSWERED = 'is in the record, but the run ended before it was answered';
const NOT_WHOLE = 'is in the record, but what came of it is not kept whole';

/** Added to each refusal: what the reader can do next. */
const NEXT = 'a replay asks nobody, unless it is started with --ask';

export class ReplayScript {
  readonly calls: RecordedCalls;
  readonly order: ReplayOrder;
  readonly reusedCalls: PaidCall[] = [];
  readonly askedCalls: PaidCall[] = [];
  readonly refusedCalls: (AccountedCall & { readonly reason: string })[] = [];

  constructor({ calls, order }: { readonly calls: RecordedCalls; readonly order: ReplayOrder }) {
    this.calls = calls;
    this.order = order;
  }

  /**
   * Why the record cannot answer this call; null when it can. A call that the run's end took away waits until nothing
   * else can happen: the Graph may end before, as it did then.
   */
  async problemOf(call: RecordedCall | null, signal: AbortSignal): Promise<string | null> {
    if (call === null) return NOT_IN_RECORD;
    const end = call.steps.at(-1)?.event.type;
    if (end === undefined || end === 'approval_asked' || end === 'approval_decided') {
      await this.order.turnOf(Number.POSITIVE_INFINITY, signal);
      return NOT_ANSWERED;
    }
    return call.steps.some(({ isCut }) => isCut) ? NOT_WHOLE : null;
  }

  reused(call: PaidCall): void {
    this.reusedCalls.push(call);
  }

  asked(call: PaidCall): void {
    this.askedCalls.push(call);
  }

  refused(call: AccountedCall, reason: string): Error {
    this.refusedCalls.push({ ...call, reason });
    return new Error(`${reason}: ${NEXT}`);
  }

  /** Of the record, what this replay has not asked for. */
  unused(): PaidCall[] {
    const left = (kind: 'agent' | 'tool', calls: readonly RecordedCall[]) =>
      calls.map(({ name, tokens }) => ({ kind, name, tokens, cost: null }));
    return [...left('agent', this.calls.agents.left()), ...left('tool', this.calls.tools.left())];
  }
}
