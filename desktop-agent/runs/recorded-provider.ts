/**
 * A provider that answers agents from the record of a run: with the same answer, the same tokens and the same failure.
 *
 * Owns that nothing is asked for real unless there is a provider for what is not in the record.
 */
import { AgentFailure, type AgentProvider, type AgentReply, type AgentRequest } from '../engine/agent-provider.ts';
import { agentKey, type RecordedCall } from './recorded-calls.ts';
import type { ReplayScript } from './replay-script.ts';

export function recordedProvider(script: ReplayScript, real: AgentProvider | null): AgentProvider {
  async function ask(request: AgentRequest): Promise<AgentReply> {
    const { prompt, label, model = null, schema = null, signal } = request;
    const call = script.calls.agents.take(agentKey({ prompt, label, model, schema }));
    const problem = await script.problemOf(call, signal);
    if (call !== null && problem === null) return answerOf(call, request);
    const what = `agent "${label}"`;
    if (real === null) throw script.refused({ kind: 'agent', name: label }, `${what} ${problem}`);
    const reply = await real.ask(request);
    script.asked({ kind: 'agent', name: label, tokens: reply.tokens, cost: reply.costUsd ?? null });
    return reply;
  }

  async function answerOf(call: RecordedCall, { label, signal }: AgentRequest): Promise<AgentReply> {
    for (const { index, event } of call.steps) {
      await script.order.turnOf(index, signal);
      if (event.type !== 'agent_finished') continue;
      script.reused({ kind: 'agent', name: label, tokens: event.tokens, cost: event.cost });
      const paid = { tokens: event.tokens, ...(event.cost !== null && { costUsd: event.cost }) };
      if (event.answer !== null) return { text: event.answer, ...paid };
      throw new AgentFailure(event.error ?? '', paid);
    }
    throw new Error(`the record has no answer of agent "${label}"`);
  }

  return { ask };
}
