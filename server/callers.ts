/**
 * Who calls: from a bearer token, however its bearer came by it, to an agent or a desktop, and one more request of theirs.
 *
 * Owns the refusals on that way, and that each request is counted once. Must not know what a route does.
 */
import { RelayError } from '../protocol/errors.ts';
import type { DesktopPrincipal } from './access.ts';
import type { AgentPrincipal } from './agent-api.ts';
import { bearerOf } from './http-answers.ts';
import type { RequestLimits } from './request-limits.ts';

/** What knows tokens. */
export interface TokenSource {
  agentOf(bearer: string): AgentPrincipal | null;
  desktopOf(bearer: string): DesktopPrincipal | null;
}

export class Callers {
  readonly #sources: readonly TokenSource[];
  readonly #limits: RequestLimits;

  constructor(sources: readonly TokenSource[], limits: RequestLimits) {
    this.#sources = sources;
    this.#limits = limits;
  }

  // Bound, since they are handed on as plain functions.
  /** The agent behind a token. Counts nothing: it is asked again and again while an answer is held. */
  agentOf = (bearer: string): AgentPrincipal | null => {
    for (const source of this.#sources) {
      const agent = source.agentOf(bearer);
      if (agent !== null) return agent;
    }
    return null;
  };

  /** Counts a request that showed a token. `agent`: whose it is; null when it opens nothing. `address`: where it came from. */
  countAgent = (agent: AgentPrincipal | null, bearer: string, address: string): void => {
    if (agent === null) {
      this.#limits.openedNothing(bearer, address);
      return;
    }
    this.#limits.opened(bearer);
    this.#limits.admit('agent', agent.agentId);
  };

  /** Counts what else was asked in the same request. */
  countMore = ({ agentId }: AgentPrincipal, requests: number): void => {
    if (requests > 0) this.#limits.admit('agent', agentId, requests);
  };

  /** The desktop that sends a request with so many calls, which are counted. */
  desktopOf = (request: Request, address: string, calls = 1): DesktopPrincipal => {
    const bearer = bearerOf(request.headers.get('authorization'));
    const desktop = this.desktopOfToken(bearer, address, calls);
    if (desktop !== null) return desktop;
    throw this.agentOf(bearer) === null ? unauthorized() : notADesktop();
  };

  /** The same for a request that is no `Request`: null when it is nobody's. */
  desktopOfToken = (bearer: string, address = '', calls = 1): DesktopPrincipal | null => {
    for (const source of this.#sources) {
      const desktop = source.desktopOf(bearer);
      if (desktop === null) continue;
      this.#limits.opened(bearer);
      this.#limits.admit('desktop', desktop.desktopId, calls);
      return desktop;
    }
    // A good token in the wrong place is its agent's request.
    this.countAgent(this.agentOf(bearer), bearer, address);
    return null;
  };

  /** Counts what came over a WebSocket that was granted to this desktop. */
  countMessages = (desktopId: string, messages: number): void => this.#limits.admit('desktop', desktopId, messages);
}

export function unauthorized(): RelayError {
  return new RelayError(
    'unauthorized',
    'This desktop is not known here: its token is missing, wrong or revoked. Run `graph-relay desktop login` on it, or make a token with `graph-relay token create --desktop NAME` (`token rotate NAME` when it had one).',
  );
}

export function tokenReplaced(): RelayError {
  return new RelayError(
    'unauthorized',
    'The access token of this agent was replaced by a new one. Its runs go on: ask again with the new one.',
  );
}

function notADesktop(): RelayError {
  return new RelayError(
    'forbidden',
    "This is an agent's token, and a desktop's is needed here. Make one with `graph-relay token create --desktop NAME`.",
  );
}
