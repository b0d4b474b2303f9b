/**
 * The relay, put together: ports, store and books in, a web-standard fetch handler out.
 *
 * Owns the routes. Opens no socket and reads no clock of its own: the same handler serves node:http, Deno and the
 * simulation.
 */
import { fetchRequestHandler } from '@trpc/server/adapters/fetch';
import { type CallContext, createRelayRouter, type RelayHandlers, TRPC_PATH } from '../protocol/api.ts';
import { asRelayError, ERRORS, RelayError } from '../protocol/errors.ts';
import { BODY_BYTES } from '../protocol/limits.ts';
import type { Ports, StateStore } from '../protocol/ports.ts';
import { type Access, createAccess } from './access.ts';
import type { AgentApi } from './agent-api.ts';
import { createAgentCalls } from './agent-calls.ts';
import { boundedRequest } from './body.ts';
import { CommandBook } from './command-book.ts';
import { Deadlines } from './deadlines.ts';
import { DesktopBook } from './desktop-book.ts';
import { createDesktopCalls } from './desktop-calls.ts';
import { Dispatcher } from './dispatcher.ts';
import { logCommandLife } from './log-events.ts';
import { createMcpEndpoint } from './mcp/endpoint.ts';
import type { RelayTables, TokenRow } from './rows.ts';

export interface Relay {
  readonly fetch: (request: Request) => Promise<Response>;
  readonly access: Access;
  readonly agents: AgentApi;
  /** Ends what is held, takes nothing new, and resolves when the store has everything. The caller closes the store. */
  drain(): Promise<void>;
}

const MCP_PATHS: ReadonlySet<string> = new Set(['/mcp', '/mcp/', '/api/v1/external-mcp', '/api/v1/external-mcp/']);

/** Some clients take an answer that names no character set for Latin-1. */
const JSON_TYPE = 'application/json; charset=utf-8';

export function createRelay(options: { ports: Ports; store: StateStore<RelayTables> }): Relay {
  const { ports, store } = options;
  const { clock, log } = ports;
  let draining = false;

  const access = createAccess({ store, ports, onRevoked: endHeld });
  const commands = new CommandBook({ store, clock, log });
  const desktops = new DesktopBook({ store, clock });
  const dispatcher = new Dispatcher({ commands, clock });
  const deadlines = new Deadlines({ clock, commands, desktops, onReturned: (desktop) => dispatcher.dispatch(desktop) });
  logCommandLife(commands, log);

  const books = { ports, store, commands, desktops, dispatcher };
  const agents = createAgentCalls(books);
  const hasProject = (projectId: string) => store.rows('project').has(projectId);
  const calls = createDesktopCalls({ ...books, hasProject, draining: () => draining });
  const router = createRelayRouter(loggingFaults(calls, ports));
  const mcp = createMcpEndpoint({ api: agents, authenticate: access.agentOf, log, clock });

  /** What a desktop holds ends with its token, so that nothing is offered to it any more. */
  function endHeld(token: TokenRow): void {
    if (token.kind === 'desktop') dispatcher.syncs.get(token.subjectId)?.fail(unauthorized());
  }

  async function desktopCall(request: Request): Promise<Response> {
    const bearer = bearerOf(request);
    const desktop = access.desktopOf(bearer);
    if (desktop === null) throw access.agentOf(bearer) === null ? unauthorized() : notADesktop();
    const req = await boundedRequest(request, BODY_BYTES);
    const context: CallContext = { desktopId: desktop.desktopId, transport: transportOf(request), signal: req.signal };
    const response = await fetchRequestHandler({ endpoint: TRPC_PATH, req, router, createContext: () => context });
    response.headers.set('content-type', JSON_TYPE);
    return response;
  }

  async function route(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith(`${TRPC_PATH}/`)) return desktopCall(request);
    if (MCP_PATHS.has(pathname)) return mcp.fetch(request);
    if (pathname === '/healthz') return json(200, { status: 'ok' });
    if (pathname === '/readyz') return readiness();
    return json(404, {
      error: { code: 'not-found', message: `There is nothing at ${pathname}. MCP clients connect to /mcp.` },
    });
  }

  function readiness(): Response {
    const { writable, reason } = store.status();
    if (draining) return json(503, { status: 'draining', reason: 'The relay is about to stop.' });
    return writable ? json(200, { status: 'ready' }) : json(503, { status: 'store-unavailable', reason });
  }

  async function fetch(request: Request): Promise<Response> {
    try {
      return await route(request);
    } catch (error) {
      return errorResponse(error, ports);
    }
  }

  async function drain(): Promise<void> {
    draining = true;
    deadlines.stop();
    dispatcher.releaseAll();
    await store.synced();
  }

  return { fetch, access, agents, drain };
}

/** A fault of ours is logged where it happened; the caller gets a neutral text. */
function loggingFaults(calls: RelayHandlers, { log }: Ports): RelayHandlers {
  const guard = <I, A>(name: string, call: (input: I, context: CallContext) => Promise<A>) => {
    return async (input: I, context: CallContext): Promise<A> => {
      try {
        return await call(input, context);
      } catch (error) {
        const relay = asRelayError(error);
        if (relay.code === 'internal')
          log.error('relay.fault', { call: name, desktop_id: context.desktopId, err: error });
        throw relay;
      }
    };
  };
  return {
    sync: guard('sync', calls.sync),
    control: guard('control', calls.control),
    complete: guard('complete', calls.complete),
  };
}

function bearerOf(request: Request): string {
  const [scheme, token] = (request.headers.get('authorization') ?? '').split(' ');
  return scheme?.toLowerCase() === 'bearer' && token ? token : '';
}

/** A desktop of the plain contract says so; it is a report for people, nothing depends on it. */
function transportOf(request: Request): CallContext['transport'] {
  return request.headers.get('x-graph-relay-transport') === 'plain' ? 'plain' : 'long-poll';
}

function unauthorized(): RelayError {
  return new RelayError(
    'unauthorized',
    'This desktop is not known here: its token is missing, wrong or revoked. Make one with `graph-relay token create --desktop NAME`.',
  );
}

function notADesktop(): RelayError {
  return new RelayError(
    'forbidden',
    "This is an agent's token, and a desktop's is needed here. Make one with `graph-relay token create --desktop NAME`.",
  );
}

/** Errors before tRPC has the request, in tRPC's own shape, so that a desktop reads one form only. */
function errorResponse(error: unknown, { log }: Ports): Response {
  const relay = asRelayError(error);
  if (relay.code === 'internal') log.error('relay.fault', { err: error });
  const { http } = ERRORS[relay.code];
  const data = { relayCode: relay.code, httpStatus: http };
  const response = json(http, { error: { message: relay.message, code: -32_000, data } });
  if (relay.code === 'unauthorized') response.headers.set('www-authenticate', 'Bearer');
  return response;
}

function json(status: number, body: unknown): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': JSON_TYPE, 'cache-control': 'no-store' },
  });
}
