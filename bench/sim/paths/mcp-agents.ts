/**
 * An agent's calls as a client of the 2026-07-28 protocol sends them: one stateless POST to `/mcp` for each call, through
 * the relay's own fetch handler.
 *
 * Owns how a call is packed and what an answer means. Knows nothing of networks: a call is with the relay when it is
 * made here.
 */
import { isErrorCode, RelayError } from '../../../protocol/errors.ts';
import { type AgentApi, AgentError } from '../../../server/agent-api.ts';
import type { FetchHandler } from '../network.ts';

const VERSION = '2026-07-28';
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientInfo': { name: 'simulation', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

export interface McpCaller {
  readonly fetch: FetchHandler;
  readonly token: string;
  /** Aborted when the caller has gone, or the relay has. */
  readonly signal: AbortSignal;
}

interface ToolResult {
  readonly isError?: boolean;
  readonly structuredContent?: unknown;
  readonly content: readonly { readonly text: string }[];
}

export function mcpAgents(caller: McpCaller): AgentApi {
  const call = <A>(name: string, input: object) => callTool(caller, { name, input }) as Promise<A>;
  return {
    listSessions: (_agent, request) => call('list_graph_sessions', request),
    runSession: (_agent, request) => call('run_graph_session', request),
    getRun: (_agent, { command_id, waitMs }) => call('get_graph_run', { command_id, wait_seconds: waitMs / 1_000 }),
    cancelRun: (_agent, request) => call('cancel_graph_run', request),
  };
}

async function callTool(
  { fetch, token, signal }: McpCaller,
  { name, input }: { readonly name: string; readonly input: object },
): Promise<unknown> {
  const params = { name, arguments: input, _meta: ENVELOPE };
  const request = new Request('http://relay.test/mcp', {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': VERSION,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    signal,
  });
  const result = resultIn(await (await fetch(request)).text());
  if (result.isError !== true) return result.structuredContent;
  throw errorOf(result.content[0]?.text ?? '');
}

/** The result of the call, whether the answer came as JSON or as an event stream. */
function resultIn(text: string): ToolResult {
  const json = text.startsWith('{')
    ? text
    : text
        .split('\n')
        .findLast((line) => line.startsWith('data: '))
        ?.slice(6);
  const { result } = JSON.parse(json ?? '{}') as { readonly result?: ToolResult };
  if (result === undefined) throw new Error(`the relay answered no result: ${text.slice(0, 200)}`);
  return result;
}

/** The relay's own errors carry their code; the others are a text for a model. */
function errorOf(text: string): Error {
  const code = /\[([a-z-]+)\]$/.exec(text)?.[1];
  return isErrorCode(code) ? new RelayError(code, text) : new AgentError(text);
}
