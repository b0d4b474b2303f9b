/**
 * Connected agents as thin as possible: tool calls over MCP's Streamable HTTP by node:http, all on one pool of connections.
 *
 * Owns how a call is packed and its answer unpacked. The same interface as the relay's own, so that a client's ways of
 * asking are the same code in virtual and in real time.
 */
import { Agent, request } from 'node:http';
import type { AgentApi } from '../../server/agent-api.ts';

export type CallerApi = Pick<AgentApi, 'runSession' | 'getRun' | 'cancelRun'>;

export interface Callers {
  /** The calls of the agent with this token. Who a call names as its agent does not matter: the token says it. */
  of(token: string): CallerApi;
  close(): void;
}

export function createCallers(relay: URL): Callers {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  const of = (token: string): CallerApi => {
    const call = async <Answer>(name: string, args: object): Promise<Answer> => {
      const params = { name, arguments: args };
      const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
      return unpacked<Answer>(name, await post(relay, { agent, token, text }));
    };
    return {
      runSession: (_agent, run) => call('run_graph_session', run),
      getRun: (_agent, { command_id, waitMs }) =>
        call('get_graph_run', waitMs > 0 ? { command_id, wait_seconds: waitMs / 1_000 } : { command_id }),
      cancelRun: (_agent, run) => call('cancel_graph_run', run),
    };
  };
  return { of, close: () => agent.destroy() };
}

function post(relay: URL, { agent, token, text }: { agent: Agent; token: string; text: string }): Promise<string> {
  const headers = {
    authorization: `Bearer ${token}`,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  };
  return new Promise((done, failed) => {
    const outgoing = request(new URL('/mcp', relay), { method: 'POST', agent, headers }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk) => chunks.push(chunk));
      incoming.on('error', failed);
      incoming.on('end', () => done(Buffer.concat(chunks).toString()));
    });
    outgoing.on('error', failed);
    outgoing.end(text);
  });
}

/** A call that may be held is answered as an event stream; its last event is the answer. */
function unpacked<Answer>(name: string, text: string): Answer {
  const json = text.startsWith('{')
    ? text
    : (text
        .match(/^data: ?(\{.*)$/gm)
        ?.at(-1)
        ?.replace(/^data: ?/, '') ?? '{}');
  const { result } = JSON.parse(json) as { result?: { isError?: boolean; structuredContent?: Answer } };
  if (result?.structuredContent !== undefined && result.isError !== true) return result.structuredContent;
  throw new Error(`${name} was refused: ${text.slice(0, 500)}`);
}
