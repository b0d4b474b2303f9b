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
import type { LastTold } from './last-told.ts';
import { type Answer, TOOLS, type ToolCaller } from './tools.ts';

export interface ToolCallPorts {
  readonly api: AgentApi;
  readonly clock: Clock;
  readonly log: Log;
  readonly told: LastTold;
}

export interface RequestedCall {
  readonly name: string;
  readonly input: unknown;
}

export async function callTool(
  ports: ToolCallPorts,
  from: Pick<ToolCaller, 'agent' | 'signal' | 'onProgress'>,
  { name, input }: RequestedCall,
): Promise<CallToolResult> {
  const tool = TOOLS.get(name);
  if (tool === undefined) {
    const message = `There is no such tool. The tools are ${[...TOOLS.keys()].join(', ')}.`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
  }
  const { clock, told } = ports;
  const caller: ToolCaller = { ...from, told, clock };
  const startedAt = clock.monotonic();
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
    duration_ms: Math.round(clock.monotonic() - startedAt),
    ok: result.isError !== true,
  });
  return result;
}

/** The answer twice: as data for programs, and in words for models. What the Graph returned stands by itself. */
export function packAnswer({ data, text, result }: Answer): CallToolResult {
  const texts = result === undefined ? [text] : [text, JSON.stringify(result.value)];
  return {
    structuredContent: data as Record<string, unknown>,
    content: texts.map((each) => ({ type: 'text', text: each })),
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
