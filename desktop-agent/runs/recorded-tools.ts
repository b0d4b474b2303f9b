/**
 * Tools that give again what they gave in a recorded run, with the owner's decisions of then. Nothing is called.
 *
 * Owns that a call which is not in the record is refused, or goes to the real tools and their permissions when there are
 * any.
 */
import { type ToolHost, ToolRefused, type ToolRequest } from '../engine/tool-host.ts';
import { type RecordedCall, toolKey } from './recorded-calls.ts';
import type { ReplayScript } from './replay-script.ts';

export function recordedTools(script: ReplayScript, real: ToolHost | null): ToolHost {
  async function call(request: ToolRequest): Promise<unknown> {
    const { tool, signal } = request;
    const recorded = script.calls.tools.take(toolKey(request));
    const problem = await script.problemOf(recorded, signal);
    if (recorded !== null && problem === null) return outputOf(recorded, request);
    if (real === null) {
      const { message } = script.refused({ kind: 'tool', name: tool }, `the call of ${tool} ${problem}`);
      throw new ToolRefused(message);
    }
    const output = await real.call(request);
    script.asked({ kind: 'tool', name: tool, tokens: 0, cost: null });
    return output;
  }

  async function outputOf(recorded: RecordedCall, request: ToolRequest): Promise<unknown> {
    const { tool, signal, onEvent } = request;
    for (const { index, event } of recorded.steps) {
      await script.order.turnOf(index, signal);
      if (event.type === 'approval_asked' || event.type === 'approval_decided') {
        // The engine says itself in which Graph it is.
        const { within: _within, ...told } = event;
        onEvent({ ...told, call: request.call });
        continue;
      }
      script.reused({ kind: 'tool', name: tool, tokens: 0, cost: null });
      if (event.type === 'tool_refused') throw new ToolRefused(event.reason);
      if (event.type === 'tool_finished' && event.ok) return event.output;
      throw new Error(event.type === 'tool_finished' ? (event.error ?? '') : '');
    }
    throw new Error(`the record has no output of ${tool}`);
  }

  return { call };
}
