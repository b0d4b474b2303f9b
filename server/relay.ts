/**
 * The relay as a web-standard fetch handler: ports and store in, routes out.
 *
 * Owns the routes and who may come in by which. Opens no socket and reads no clock of its own: the same handler serves node:http, Deno and the
 * simulation.
 */
import { createRelayRouter, type RelayHandlers, TRPC_PATH } from '../protocol/api.ts';
import { STORE_REFUSES, withoutDisk } from '../protocol/errors.ts';
import type { Ports, StateStore, StoreStatus } from '../protocol/ports.ts';
import { type Access, createAccess, type DesktopPrincipal } from './access.ts';
import type { AgentApi } from './agent-api.ts';
import type { Authorization, Peer } from './auth/authorization.ts';
import { MCP_PATHS } from './auth/places.ts';
import { Callers, tokenReplaced, unauthorized } from './callers.ts';
import { type AcceptOptions, DesktopSockets, type ServerSocket } from './desktop-sockets.ts';
import type { FrontDoor } from './front-door.ts';
import { json, trpcErrorAnswer } from './http-answers.ts';
import { createMcpEndpoint } from './mcp/endpoint.ts';
import { openApiDocument } from './plain/openapi.ts';
import { createPlainRoutes } from './plain/routes.ts';
import { createRelayCore } from './relay-core.ts';
import { DEFAULT_LIMITS, type RelayLimits } from './relay-limits.ts';
import { RequestLimits } from './request-limits.ts';
import type { RelayTables, TokenRow } from './rows.ts';
import { createTrpcRoute, logged } from './trpc-route.ts';

export interface Relay {
  /** `peer`: who is at the other end of the connection; limits count by it. */
  readonly fetch: (request: Request, peer?: Peer) => Promise<Response>;
  /** The desktop that asks for a WebSocket, which counts as a request of it; null when it is nobody's. */
  readonly desktopOf: (bearer: string, address?: string) => DesktopPrincipal | null;
  /** Takes over a WebSocket whose upgrade was granted to this desktop. */
  readonly acceptSocket: (socket: ServerSocket, desktopId: string, options?: AcceptOptions) => void;
  /** True once {@link Relay.drain} was called. */
  readonly draining: () => boolean;
  readonly access: Access;
  snapshot(): RelaySnapshot;
  readonly agents: AgentApi;
  /** What the desktops' routes call, once the caller is known and the input has its form. */
  readonly calls: RelayHandlers;
  /** Ends what is held, takes nothing new, and resolves when the store has everything. The caller closes the store. */
  drain(): Promise<void>;
}

/** How the relay is at this moment, for its owner. */
export interface RelaySnapshot {
  readonly limits: RelayLimits;
  /** WebSockets of desktops that are open. */
  readonly sockets: number;
  readonly store: StoreStatus;
}

const NOBODY: Peer = { address: '' };

export interface RelayOptions {
  readonly ports: Ports;
  readonly store: StateStore<RelayTables>;
  /** What clients are told as the relay's version. */
  readonly version?: string | undefined;
  /** The owner's own numbers, where they differ. */
  readonly limits?: Partial<RelayLimits>;
  /** Where strangers can reach it, what stands before the routes. */
  readonly door?: FrontDoor;
  /** Without it, tokens of the command line are the only way in. */
  readonly authorization?: Authorization;
}

export function createRelay(options: RelayOptions): Relay {
  const { ports, store, authorization, door } = options;
  const { clock, log } = ports;
  const limits: RelayLimits = { ...DEFAULT_LIMITS, ...options.limits };
  const core = createRelayCore({ ports, store, limits });
  const { agents, calls, draining } = core;
  const access = createAccess({ store, ports, onRevoked: endHeld, onRotated: endOldToken });
  authorization?.connections.onRemoved(({ kind, connectionId }) => endHeld({ kind, subjectId: connectionId }));
  const requests = new RequestLimits({ clock, log, limits });
  const callers = new Callers([access, ...(authorization === undefined ? [] : [authorization])], requests);
  const router = createRelayRouter(calls);
  const sockets = new DesktopSockets({
    router,
    clock,
    log,
    times: limits,
    onSilent: core.fellSilent,
    count: callers.countMessages,
  });
  const mcp = createMcpEndpoint({
    api: agents,
    authenticate: callers.agentOf,
    counting: callers,
    version: options.version,
    resourceMetadata: (request) => authorization?.resourceMetadataOf(request) ?? null,
    log,
    clock,
    toldRuns: limits.toldRuns,
    runsKeptMs: limits.keyRetentionMs,
  });
  const trpc = createTrpcRoute({ router, authenticate: callers.desktopOf, log });
  const plainRoutes = createPlainRoutes({ calls: core.plainCalls, authenticate: callers.desktopOf, log });

  /** What somebody has open ends with their access: a desktop is offered nothing any more, an agent is told nothing. */
  function endHeld({ kind, subjectId }: Pick<TokenRow, 'kind' | 'subjectId'>): void {
    if (kind === 'agent') core.endAgent(subjectId);
    else endDesktop(subjectId);
  }

  /** What was opened with this token ends. Whom it stands for goes on with another one. */
  function endOldToken({ kind, subjectId }: TokenRow): void {
    if (kind === 'agent') core.endWaits(subjectId, tokenReplaced());
    else endDesktop(subjectId);
  }

  function endDesktop(desktopId: string): void {
    trpc.endOf(desktopId, unauthorized());
    core.endHeld(desktopId, unauthorized());
    sockets.closeOf(desktopId);
  }

  async function route(request: Request, peer: Peer): Promise<Response> {
    const { pathname } = new URL(request.url);
    const address = door?.addressOf(request.headers, peer.address) ?? peer.address;
    if (pathname.startsWith(`${TRPC_PATH}/`)) return trpc.fetch(request, address);
    if (MCP_PATHS.has(pathname)) return mcp.fetch(request, { address });
    const plain = plainRoutes(request, address);
    if (plain !== null) return plain;
    const authorized = authorization?.fetch(request, peer) ?? null;
    if (authorized !== null) return authorized;
    if (pathname === '/openapi.json') return json(200, openApiDocument());
    if (pathname === '/healthz') return json(200, { status: 'ok' });
    if (pathname === '/readyz') return readiness();
    return json(404, {
      error: { code: 'not-found', message: `There is nothing at ${pathname}. MCP clients connect to /mcp.` },
    });
  }

  function readiness(): Response {
    const { writable } = store.status();
    if (draining()) return json(503, { status: 'draining', reason: 'The relay is about to stop.' });
    return writable
      ? json(200, { status: 'ready' })
      : json(503, { status: 'store-unavailable', reason: STORE_REFUSES });
  }

  async function answer(request: Request, peer: Peer = NOBODY): Promise<Response> {
    try {
      return await route(request, peer);
    } catch (error) {
      return trpcErrorAnswer(withoutDisk(logged(error, log)));
    }
  }

  async function drain(): Promise<void> {
    authorization?.stop();
    await core.drain();
    // Also when the disk refuses: what waits for it is told so, and the desktops go elsewhere.
    try {
      await store.synced();
    } finally {
      await sockets.closeAll();
    }
  }

  const acceptSocket: Relay['acceptSocket'] = (socket, desktopId, how) => sockets.accept(socket, desktopId, how);
  const snapshot = () => ({ limits, sockets: sockets.size, store: store.status() });
  const fetch = door === undefined ? answer : door.guard(answer);
  return { fetch, desktopOf: callers.desktopOfToken, acceptSocket, draining, access, snapshot, agents, calls, drain };
}
