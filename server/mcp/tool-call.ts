/**
 * One tool call from its name to its result: runs the tool, packs the answer, words the failure, writes the log line.
 *
 * Never throws for what a tool did: a model reads results, and only programs read protocol errors. Arguments, results
 * and tokens never reach the log.
 */
import { type CallToolResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { asRelayError, RelayError } from '../../protocol/errors.ts';
import type { Clock, Log } from '../../protocol/ports.ts';
import { type AgentApi, AgentError } from '../agent-api.ts';
import { TOOLS, type ToolCaller } from './tools.ts';

export interface ToolCallPorts {
  readonly api: AgentApi;
  readonly clock: Clock;
  readonly log: Log;
}

export interface RequestedCall {
  readonly name: string;
  readonly input: unknown;
}

export async function callTool(
  ports: ToolCallPorts,
  caller: ToolCaller,
  { name, input }: RequestedCall,
): Promise<CallToolResult> {
  const tool = TOOLS.get(name);
  if (tool === undefined) {
    const message = `There is no such tool. The tools are ${[...TOOLS.keys()].join(', ')}.`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
  }
  const startedAt = ports.clock.monotonic();
  const result = await tool
    .call(ports.api, caller, input)
    .then(packAnswer)
    .catch((error: unknown) => {
      if (isOurs(error)) return packFailure(error);
      ports.log.error('mcp.fault', { tool: name, agent_id: caller.agent.agentId, err: error });
      return packFailure(asRelayError(error));
    });
  ports.log.info('mcp.call', {
    tool: name,
    agent_id: caller.agent.agentId,
    duration_ms: Math.round(ports.clock.monotonic() - startedAt),
    ok: result.isError !== true,
  });
  return result;
}

/** The answer twice: as data for programs, and as the same compact JSON for models. */
function packAnswer(answer: object): CallToolResult {
  return {
    structuredContent: answer as Record<string, unknown>,
    content: [{ type: 'text', text: JSON.stringify(answer) }],
  };
}

function isOurs(error: unknown): error is AgentError | RelayError {
  return error instanceof AgentError || error instanceof RelayError;
}

/** An agent's error is plain text, part of the contract. The relay's own carry their code, for support. */
function packFailure(error: AgentError | RelayError): CallToolResult {
  const text = error instanceof RelayError ? `${error.message} [${error.code}]` : error.message;
  return { isError: true, content: [{ type: 'text', text }] };
}
