/**
 * The MCP endpoint as a web-standard handler: where connected agents come in.
 *
 * Owns the order of steps: token, count, method, body, gate, SDK. Stateless: whatever session id an old client keeps sending
 * is ignored, so it goes on working after a restart. Any path is taken; routing is done outside.
 */
import { RelayError } from '../../protocol/errors.ts';
import { KEY_RETENTION_MS, MCP_BODY_BYTES, RETRY_AFTER_SECONDS, TOLD_RUNS } from '../../protocol/limits.ts';
import type { Clock, Log } from '../../protocol/ports.ts';
import type { AgentApi, AgentPrincipal } from '../agent-api.ts';
import { ANY_ORIGIN, preflight } from '../auth/well-known.ts';
import { markInexact } from '../exact-json.ts';
import { readJsonBody } from './body.ts';
import { type Authenticate, type Identity, identify, refusalFor, toolCallsOf, wantsTokenForAll } from './gate.ts';
import { LastTold } from './last-told.ts';
import { OpenCalls } from './open-calls.ts';
import { RPC, refuse, withCharset } from './responses.ts';
import { createServing } from './serving.ts';

export interface McpEndpointOptions {
  readonly api: AgentApi;
  /** The agent behind a token; null when there is none (any more). */
  readonly authenticate: Authenticate;
  /** Throws `too-many-requests`. Without it, nobody is counted. */
  readonly counting?: AgentCounting;
  /** Where the client of this request reads how to get a token; null where tokens come from the command line only. */
  readonly resourceMetadata?: (request: Request) => string | null;
  readonly clock: Clock;
  readonly log: Log;
  /** Runs of which is remembered what was told last; {@link TOLD_RUNS} when left out. */
  readonly toldRuns?: number;
  /** How long an ended run is kept at least, as clients of tasks are told; {@link KEY_RETENTION_MS} when left out. */
  readonly runsKeptMs?: number;
  /** What clients are told as the server's version. */
  readonly version?: string | undefined;
  readonly maxBodyBytes?: number;
}

/** Counts what agents send. */
export interface AgentCounting {
  /** A request that showed this token; null: it is nobody's. */
  countAgent(agent: AgentPrincipal | null, bearer: string, address: string): void;
  /** What else was asked in the same request. */
  countMore(agent: AgentPrincipal, requests: number): void;
}

export interface McpEndpoint {
  /** `peer`: where it comes from; limits count by it. */
  fetch(request: Request, peer?: { readonly address: string }): Promise<Response>;
}

const NOBODY = { address: '' };

export function createMcpEndpoint(options: McpEndpointOptions): McpEndpoint {
  const { api, authenticate, counting, clock, log, version = '0.0.0', maxBodyBytes = MCP_BODY_BYTES } = options;
  const { toldRuns = TOLD_RUNS } = options;
  const { resourceMetadata = () => null } = options;
  const openCalls = new OpenCalls();
  const told = new LastTold(toldRuns);
  const { runsKeptMs = KEY_RETENTION_MS } = options;
  const serve = createServing({ api, clock, log, version, openCalls, told, runsKeptMs });

  async function answer(request: Request, address: string): Promise<Response> {
    const identity = identify(request, authenticate);
    // Before the body is read: that is most of the work.
    if (identity.kind !== 'anonymous') counting?.countAgent(agentIn(identity), identity.bearer, address);
    const body = request.method === 'POST' ? await readJsonBody(request, maxBodyBytes) : null;
    const json = body !== null && 'json' in body ? body.json : null;
    const gate = { resourceMetadata: resourceMetadata(request), tokenForAll: wantsTokenForAll(request) };
    const refusal = refusalFor(identity, json, gate);
    if (refusal !== null) return refusal;
    if (body === null) return refuseMethod();
    if ('refusal' in body) return refuse(body.refusal);
    for (const { input } of toolCallsOf(json)) markInexact(input, body.inexact);
    const agent = agentIn(identity);
    if (agent !== null) {
      counting?.countMore(agent, Array.isArray(json) ? json.length - 1 : 0);
      openCalls.takeBack(agent.agentId, json);
    }
    const agentNow = () => agentIn(identify(request, authenticate));
    return serve({ request, body: json, agent, agentNow, mayHold: mayHold(json) });
  }

  async function fetch(request: Request, { address } = NOBODY): Promise<Response> {
    if (request.method === 'OPTIONS') return preflight('POST, OPTIONS');
    try {
      return readable(withCharset(await answer(request, address)));
    } catch (error) {
      if (error instanceof RelayError && error.code === 'too-many-requests') return readable(refuseOften(error));
      log.error('mcp.fault', { err: error });
      return readable(withCharset(refuseFault()));
    }
  }

  return { fetch };
}

function mayHold(body: unknown): boolean {
  return toolCallsOf(body).some(({ tool, input }) => tool?.mayHold(input));
}

function agentIn(identity: Identity): AgentPrincipal | null {
  return identity.kind === 'agent' ? identity.agent : null;
}

/** A client in a browser may read the answer, and the challenge in it. What lets it in is its token, and no cookie. */
function readable(response: Response): Response {
  response.headers.set('access-control-allow-origin', ANY_ORIGIN['access-control-allow-origin']);
  response.headers.set('access-control-expose-headers', 'WWW-Authenticate, MCP-Protocol-Version, Retry-After');
  return response;
}

/** There are no sessions to listen on or to end. */
function refuseMethod(): Response {
  const message = 'Method not allowed. This endpoint keeps no sessions: POST each JSON-RPC message.';
  return refuse({ status: 405, code: RPC.http, message, headers: { allow: 'POST' } });
}

/** Without the id of the request: most are refused before their body is read. */
function refuseOften({ code, message, retryAfterSeconds = RETRY_AFTER_SECONDS }: RelayError): Response {
  const headers = { 'retry-after': String(retryAfterSeconds) };
  return withCharset(refuse({ status: 429, code: RPC.http, relayCode: code, message, headers }));
}

function refuseFault(): Response {
  const message = 'The relay failed to handle the request. Try again; its log has the detail.';
  return refuse({ status: 500, code: RPC.internal, message });
}
