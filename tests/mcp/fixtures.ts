/** An MCP endpoint over a relay that is not there: its answers are set, and what reaches it is written down. */
import { RelayError } from '../../protocol/errors.ts';
import type { Clock, Log, LogFields } from '../../protocol/ports.ts';
import { RUN_NOT_FOUND } from '../../protocol/texts.ts';
import {
  type AgentApi,
  AgentError,
  type AgentPrincipal,
  type RunTicket,
  type RunView,
} from '../../server/agent-api.ts';
import { createMcpEndpoint, type McpEndpoint } from '../../server/mcp/endpoint.ts';

export const SESSION = 'gs_0123456789abcdef0123456789abcdef';
export const COMMAND = '0b5c3f0e-52a4-4b6f-9b7e-0d7c6f3a1e22';
export const UNKNOWN_COMMAND = '11111111-1111-4111-8111-111111111111';
export const GOOD = 'gra_good';
export const READ_ONLY = 'gra_read';
export const RUN_ONLY = 'gra_run';
export const NO_SCOPE = 'gra_none';

const AGENTS: Readonly<Record<string, AgentPrincipal>> = {
  [GOOD]: agent('agent-good', ['osfoundry:read', 'osfoundry:run']),
  [READ_ONLY]: agent('agent-read', ['osfoundry:read']),
  [RUN_ONLY]: agent('agent-run', ['osfoundry:run']),
  [NO_SCOPE]: agent('agent-none', []),
};

function agent(agentId: string, scopes: AgentPrincipal['scopes']): AgentPrincipal {
  return { agentId, name: agentId, projects: ['home'], scopes };
}

export interface ApiCall {
  readonly method: keyof AgentApi;
  readonly agentId: string;
  readonly request: Record<string, unknown>;
}

export interface FakeApi extends AgentApi {
  readonly calls: ApiCall[];
  /** What a run is told to be, besides the usual. */
  run: Partial<RunView>;
  /** Thrown by every call when set. */
  failure: unknown;
  /** Runs before an answer: to hold it, or to look at the request's signal. */
  before: (call: ApiCall) => Promise<void>;
}

export function runView(changes: Partial<RunView> = {}): RunView {
  return {
    command_id: COMMAND,
    project_id: 'home',
    graph_session_id: SESSION,
    status: 'queued',
    execution_id: null,
    cancel_requested: false,
    ahead: 0,
    check_after_seconds: 10,
    start_by: '2026-11-09T10:00:00.000Z',
    desktop: {
      online: true,
      since: '2026-11-08T10:00:00.000Z',
      transport: 'long-poll',
      asleep: false,
      last_seen_at: '2026-11-08T10:00:00.000Z',
    },
    timing: {
      queued_at: '2026-11-08T10:00:00.000Z',
      offered_at: null,
      started_at: null,
      finished_at: null,
      pickup_ms: null,
      run_ms: null,
      transport: null,
    },
    error: null,
    total_tokens: null,
    reported_cost: null,
    ...changes,
  };
}

export function createFakeApi(): FakeApi {
  const api: FakeApi = {
    calls: [],
    run: {},
    failure: null,
    before: async () => {},
    listSessions: async (principal, request) => {
      await arrive('listSessions', principal, request);
      return { project_id: request.project_id ?? 'home', sessions: [] };
    },
    runSession: async (principal, request): Promise<RunTicket> => {
      await arrive('runSession', principal, { ...request });
      return { ...runView(api.run), replayed: false };
    },
    getRun: async (principal, request) => {
      await arrive('getRun', principal, { ...request });
      return runView(api.run);
    },
    cancelRun: async (principal, request) => {
      await arrive('cancelRun', principal, request);
      return runView({ ...api.run, status: 'cancelled' });
    },
  };
  async function arrive(method: keyof AgentApi, { agentId }: AgentPrincipal, request: Record<string, unknown>) {
    const call: ApiCall = { method, agentId, request };
    api.calls.push(call);
    await api.before(call);
    if (api.failure !== null) throw api.failure;
    if (request.command_id === UNKNOWN_COMMAND) throw new AgentError(RUN_NOT_FOUND);
  }
  return api;
}

export interface LogLine {
  readonly level: keyof Log;
  readonly event: string;
  readonly fields: LogFields;
}

export interface World {
  readonly api: FakeApi;
  readonly endpoint: McpEndpoint;
  readonly lines: LogLine[];
  /** What each reading of the clock adds to it. */
  readonly clock: Clock & { stepMs: number };
  /** Tokens that were revoked in this world. */
  readonly revoked: Set<string>;
}

export function createWorld(options: { maxBodyBytes?: number } = {}): World {
  const api = createFakeApi();
  const lines: LogLine[] = [];
  const revoked = new Set<string>();
  const clock = createSteppingClock();
  const authenticate = (bearer: string) => (revoked.has(bearer) ? null : (AGENTS[bearer] ?? null));
  const endpoint = createMcpEndpoint({ api, authenticate, clock, log: collect(lines), version: '1.2.3', ...options });
  return { api, endpoint, lines, clock, revoked };
}

function createSteppingClock(): World['clock'] {
  let now = 0;
  return {
    stepMs: 0,
    now: () => now,
    monotonic() {
      now += this.stepMs;
      return now;
    },
    after: () => {
      throw new Error('The endpoint arms no timers of its own.');
    },
  };
}

function collect(lines: LogLine[]): Log {
  const at =
    (level: keyof Log) =>
    (event: string, fields: LogFields = {}) =>
      void lines.push({ level, event, fields });
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

export function storeFailure(): RelayError {
  return new RelayError('store-unavailable', 'The disk refuses writes. Try again later.');
}

export type Era = '2025' | '2026';
export const ERAS: readonly Era[] = ['2025', '2026'];
export const MODERN_VERSION = '2026-07-28';

export interface RpcMessage {
  readonly jsonrpc: '2.0';
  readonly id?: number | string;
  readonly method: string;
  readonly params?: Record<string, unknown>;
}

/** A request as a client of that era sends it. */
export function message(era: Era, method: string, params: Record<string, unknown> = {}): RpcMessage {
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': MODERN_VERSION,
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return { jsonrpc: '2.0', id: 7, method, params: era === '2026' ? { ...params, _meta: envelope } : params };
}

/** The same request, by a client of the 2026 era that can do this. */
export function declaring({ params, ...rest }: RpcMessage, capabilities: unknown): RpcMessage {
  const envelope = params?._meta as object;
  const _meta = { ...envelope, 'io.modelcontextprotocol/clientCapabilities': capabilities };
  return { ...rest, params: { ...params, _meta } };
}

export function toolCall(era: Era, name: string, input?: unknown): RpcMessage {
  return message(era, 'tools/call', { name, ...(input === undefined ? {} : { arguments: input }) });
}

export interface PostOptions {
  readonly token?: string;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/** The HTTP request for a message, a batch, or a body that is not even that. */
export function postOf(body: object | string | Uint8Array | ReadableStream, options: PostOptions = {}): Request {
  const isMessage = typeof body === 'object' && !(body instanceof Uint8Array) && !(body instanceof ReadableStream);
  return new Request('http://relay.test/mcp', {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...(isMessage ? standardHeaders(body as RpcMessage) : {}),
      ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
      ...options.headers,
    },
    body: isMessage ? JSON.stringify(body) : body,
    duplex: 'half',
    ...(options.signal && { signal: options.signal }),
  } as RequestInit);
}

/** What the 2026 era repeats of a message in headers. */
function standardHeaders({ method, params }: RpcMessage): Record<string, string> {
  const meta = params?._meta as Readonly<Record<string, unknown>> | undefined;
  if (meta?.['io.modelcontextprotocol/protocolVersion'] === undefined) return {};
  const subject = params?.name ?? params?.taskId;
  const name = typeof subject === 'string' ? { 'mcp-name': subject } : {};
  return { 'mcp-protocol-version': MODERN_VERSION, 'mcp-method': method, ...name };
}

export interface RpcAnswer {
  readonly id: number | string | null;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes.
  readonly result?: any;
  readonly error?: { readonly code: number; readonly message: string };
}

/** The JSON-RPC answer, whether it came as JSON or as an event stream. */
export async function answerOf(response: Response): Promise<RpcAnswer> {
  const text = await response.text();
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return JSON.parse(text);
  const data = text.split('\n').filter((line) => line.startsWith('data: '));
  return JSON.parse(data.at(-1)!.slice('data: '.length));
}

/** Calls a tool with a good token and gives back its result. */
export async function callTool(world: World, era: Era, [name, input]: readonly [string, unknown?]) {
  const response = await world.endpoint.fetch(postOf(toolCall(era, name, input), { token: GOOD }));
  return (await answerOf(response)).result;
}

/** The text of a result that is an error. */
export async function refusalText(world: World, era: Era, call: readonly [string, unknown?]): Promise<string> {
  const result = await callTool(world, era, call);
  if (result?.isError !== true) throw new Error(`Expected a refusal of ${JSON.stringify(call)}.`);
  return result.content[0].text;
}
