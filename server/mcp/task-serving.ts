/**
 * The wiring of the Tasks extension into the MCP SDK, which knows its names and has nothing to serve it with.
 *
 * Owns the handlers and the stream of `subscriptions/listen`. For the era that has the extension only: a client of 2025
 * gets what it got before. Must not decide who may call.
 */
import {
  classifyInboundRequest,
  PerRequestHTTPServerTransport,
  type Server,
  type ServerContext,
  SUBSCRIPTION_ID_META_KEY,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { AgentPrincipal } from '../agent-api.ts';
import { asProtocolError, callTaskMethod, TASK_METHODS, type TaskMethod, type TaskPorts } from './task-calls.ts';
import { requireDeclared } from './task-methods.ts';
import { tellNews } from './task-news.ts';

/** Serves the methods of tasks to this agent. */
export function serveTaskMethods(server: Server, ports: TaskPorts, agent: AgentPrincipal | null): void {
  const params = z.looseObject({ taskId: z.string() });
  for (const method of Object.keys(TASK_METHODS) as TaskMethod[]) {
    server.setRequestHandler(method, { params }, async ({ taskId }, { mcpReq }) => {
      requireDeclared(mcpReq.envelope);
      if (agent === null) throw new Error('A task call without an agent reached the server.');
      return { ...(await callTaskMethod(ports, { agent, signal: mcpReq.signal }, { method, taskId })) };
    });
  }
}

export interface ListenExchange {
  readonly request: Request;
  readonly body: unknown;
  /** Who asks, as of now. */
  readonly agentNow: () => AgentPrincipal | null;
}

/**
 * Answers a subscription with a stream of the news of its tasks, which the SDK's own router would ignore. There are no
 * other news: who asks for some is told so by what is acknowledged, and by a stream that ends.
 */
export async function serveListen(
  makeServer: (revision: string) => Server,
  ports: TaskPorts,
  exchange: ListenExchange,
): Promise<Response> {
  const { request, body, agentNow } = exchange;
  const route = classifyInboundRequest({ httpMethod: 'POST', ...versionOf(request), body });
  if (route.kind !== 'modern' || route.messageKind !== 'request') throw new Error('Not a request of the 2026 era.');
  const server = makeServer(route.classification.revision ?? '');
  const params = z.looseObject({ notifications: z.looseObject({ taskIds: z.array(z.string()).optional() }) });
  server.setRequestHandler('subscriptions/listen', { params }, async ({ notifications }, { mcpReq }) => {
    const _meta = { [SUBSCRIPTION_ID_META_KEY]: mcpReq.id };
    const accept = (accepted: object) =>
      say(mcpReq, 'notifications/subscriptions/acknowledged', { notifications: accepted, _meta });
    const { taskIds } = notifications;
    if (taskIds === undefined) {
      await accept({});
      return { _meta };
    }
    requireDeclared(mcpReq.envelope);
    const listener = {
      agent: agentNow,
      signal: mcpReq.signal,
      accepted: (taskIds: readonly string[]) => accept({ taskIds }),
      news: (task: object) => say(mcpReq, 'notifications/tasks', { ...task, _meta }),
    };
    await tellNews(ports, listener, taskIds).catch((error: unknown) => {
      throw asProtocolError(error, (fault) => ports.log.error('mcp.fault', { method: mcpReq.method, err: fault }));
    });
    return { _meta };
  });
  const transport = new PerRequestHTTPServerTransport({ classification: route.classification });
  await server.connect(transport);
  return transport.handleMessage(route.message, { request });
}

function say({ notify }: ServerContext['mcpReq'], method: string, params: object): Promise<void> {
  return notify({ method, params } as Parameters<typeof notify>[0]);
}

function versionOf({ headers }: Request) {
  const protocolVersionHeader = headers.get('mcp-protocol-version');
  return protocolVersionHeader === null ? {} : { protocolVersionHeader };
}
