/**
 * The wiring of the MCP SDK: one server object per request, for both eras of the protocol, without sessions.
 *
 * Owns how an answer travels. Plain JSON wherever possible: it costs half the time of an event stream, and every
 * client reads it. A call that may be held is answered as an event stream, whose headers and keep-alive comments go
 * out while it waits, so that proxies which cut silent answers let it be. Must not decide who may call.
 */
import {
  createMcpHandler,
  isLegacyRequest,
  type McpHandlerRequestOptions,
  type McpRequestContext,
  Server,
  type ServerContext,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { cleanText } from '../../protocol/text.ts';
import type { AgentPrincipal } from '../agent-api.ts';
import { LastTold } from './last-told.ts';
import type { OpenCalls } from './open-calls.ts';
import { type TaskPorts, taskInPlaceOf } from './task-calls.ts';
import { declaresTasks, isListen, TASK_TOOL, TASKS_DECLARED } from './task-methods.ts';
import { serveListen, serveTaskMethods } from './task-serving.ts';
import { callTool, type ToolCallPorts } from './tool-call.ts';
import { TOOLS, type ToolCaller } from './tools.ts';

export interface Exchange {
  readonly request: Request;
  /** The request's body, parsed. */
  readonly body: unknown;
  readonly agent: AgentPrincipal | null;
  /** The same, asked again: for an answer that takes hours. */
  readonly agentNow: () => AgentPrincipal | null;
  readonly mayHold: boolean;
}

export interface ServingOptions extends ToolCallPorts, TaskPorts {
  /** What clients see as the server's version. */
  readonly version: string;
  readonly openCalls: OpenCalls;
}

/** The tools change with the program only; clients of the 2026 era may keep the list, and share it, for so long. */
const LIST_CACHE = { ttlMs: 10 * 60_000, cacheScope: 'public' } as const;

const INSTRUCTIONS =
  "Graphs are programs on the owner's desktop. list_graph_sessions shows what is shared, run_graph_session queues a run and returns its command_id, get_graph_run with wait_seconds returns its result, cancel_graph_run stops it.";

/** The answer to `tools/list`. */
const TOOL_LIST = { tools: [...TOOLS.values()].map((tool) => tool.listed) };

/** The client closed the request (nginx's number); nobody reads it. */
const CLIENT_CLOSED_REQUEST = 499;

export function createServing(options: ServingOptions): (exchange: Exchange) => Promise<Response> {
  const report = (error: Error) => options.log.debug('mcp.refused', { problem: cleanText(error, 300) });
  const serverFor = (served: Served) => {
    const server = createServer(options, served);
    server.onerror = report;
    return server;
  };
  const factory = ({ authInfo, era }: Partial<McpRequestContext>) =>
    serverFor({ agent: principalOf(authInfo), hasTasks: era === 'modern' });
  const listening = (revision: string) =>
    serverFor({ agent: null, hasTasks: true, supportedProtocolVersions: [revision] });
  // Of what the SDK has news of, nothing changes while a client listens, so no stream of it is worth keeping open.
  const shared = { onerror: report, maxSubscriptions: 0 };
  const plain = createMcpHandler(factory, shared);
  const streaming = createMcpHandler(factory, { ...shared, responseMode: 'sse' });

  return async (exchange) => {
    const { request, body, agent, mayHold } = exchange;
    const sdkOptions = { parsedBody: body, ...(agent && { authInfo: authInfoOf(agent) }) };
    if (mayHold) return streaming.fetch(request, sdkOptions);
    if (await isLegacyRequest(request, body)) return answerLegacyAsJson(factory(sdkOptions), request, sdkOptions);
    const answer = await plain.fetch(request, sdkOptions);
    // The SDK has looked at headers and envelope, and turned it down for want of room for subscriptions of its own.
    const isWellFormed = answer.status === 200;
    return isListen(body) && isWellFormed ? serveListen(listening, options, exchange) : answer;
  };
}

/** The SDK's own handler always answers the 2025 era with an event stream; its transport can do better. */
async function answerLegacyAsJson(
  server: Server,
  request: Request,
  sdkOptions: McpHandlerRequestOptions,
): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  const gone = Promise.withResolvers<Response>();
  const onAbort = () => gone.resolve(new Response(null, { status: CLIENT_CLOSED_REQUEST }));
  request.signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([transport.handleRequest(request, sdkOptions), gone.promise]);
  } finally {
    request.signal.removeEventListener('abort', onAbort);
    await server.close();
  }
}

interface Served {
  readonly agent: AgentPrincipal | null;
  readonly hasTasks: boolean;
  /** Where the SDK does not set them itself. */
  readonly supportedProtocolVersions?: string[];
}

function createServer(options: ServingOptions, { agent, hasTasks, ...versions }: Served): Server {
  const server = new Server(
    { name: 'graph-relay', title: 'Graph Relay', version: options.version },
    {
      capabilities: { tools: {}, ...(hasTasks && TASKS_DECLARED) },
      ...versions,
      instructions: INSTRUCTIONS,
      cacheHints: { 'tools/list': LIST_CACHE, 'server/discover': LIST_CACHE },
    },
  );
  // The low-level server sends a tool's fields as they are; the high-level one would drop `securitySchemes`.
  server.setRequestHandler('tools/list', () => TOOL_LIST as never);
  server.setRequestHandler('tools/call', ({ params }, { mcpReq }) => {
    // The gate lets no call through without a token. Should it ever, nothing may run.
    if (agent === null) throw new Error('A tool call without an agent reached the server.');
    const { agentId } = agent;
    const requested = { name: params.name, input: params.arguments ?? {} };
    const onProgress = progressTeller(mcpReq);
    const asTask = hasTasks && params.name === TASK_TOOL && declaresTasks(mcpReq.envelope);
    // Whoever gets a task has not been told the ticket.
    const ports = asTask ? { ...options, told: new LastTold(0) } : options;
    return options.openCalls.run({ agentId, id: mcpReq.id, signal: mcpReq.signal }, async (signal) => {
      const result = await callTool(ports, { agent, signal, onProgress }, requested);
      return asTask ? taskInPlaceOf(options, result) : result;
    });
  });
  if (hasTasks) serveTaskMethods(server, options, agent);
  return server;
}

/** Puts news into the stream of the request's answer; null when the client gave no token to tell them by. */
function progressTeller({ _meta, notify }: ServerContext['mcpReq']): ToolCaller['onProgress'] {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return null;
  // The client may be gone; its answer will find out.
  return (progress) =>
    void notify({ method: 'notifications/progress', params: { progressToken, ...progress } }).catch(() => {});
}

type AuthInfo = NonNullable<McpRequestContext['authInfo']>;

/** The SDK carries the caller through; it is not given the token, so that it cannot give it away. */
function authInfoOf(agent: AgentPrincipal): AuthInfo {
  return { token: '', clientId: agent.agentId, scopes: [...agent.scopes], extra: { agent } };
}

function principalOf(authInfo: AuthInfo | undefined): AgentPrincipal | null {
  return (authInfo?.extra?.agent as AgentPrincipal | undefined) ?? null;
}
