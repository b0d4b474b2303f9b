/**
 * The desktop's calls over tRPC and HTTP: token, version and bound of the body, before tRPC sees the request.
 */
import { fetchRequestHandler } from '@trpc/server/adapters/fetch';
import { type CallContext, type createRelayRouter, TRPC_PATH } from '../protocol/api.ts';
import { asRelayError } from '../protocol/errors.ts';
import { BODY_BYTES } from '../protocol/limits.ts';
import type { Log } from '../protocol/ports.ts';
import { PROTOCOL_HEADER, refuseUnservedVersion, SERVED_VERSIONS } from '../protocol/versions.ts';
import { boundedRequest } from './body.ts';
import { JSON_TYPE, trpcErrorAnswer, withRetryAfter, withVersions } from './http-answers.ts';

export interface TrpcRouteOptions {
  readonly router: ReturnType<typeof createRelayRouter>;
  /** The desktop that sent the request. Throws `unauthorized` when it is none of ours. */
  readonly authenticate: (request: Request) => { readonly desktopId: string };
  readonly log: Log;
}

export function createTrpcRoute({ router, authenticate, log }: TrpcRouteOptions) {
  async function answer(request: Request): Promise<Response> {
    const { desktopId } = authenticate(request);
    refuseUnservedVersion(request.headers.get(PROTOCOL_HEADER), SERVED_VERSIONS);
    const req = await boundedRequest(request, BODY_BYTES);
    const context: CallContext = { desktopId, transport: transportOf(request), signal: req.signal };
    const response = await fetchRequestHandler({ endpoint: TRPC_PATH, req, router, createContext: () => context });
    response.headers.set('content-type', JSON_TYPE);
    return response;
  }

  return async (request: Request): Promise<Response> => {
    const response = await answer(request).catch((error) => trpcErrorAnswer(logged(error, log)));
    return withVersions(withRetryAfter(response), SERVED_VERSIONS);
  };
}

/** A desktop of the plain contract says so; it is a report for people, nothing depends on it. */
function transportOf(request: Request): CallContext['transport'] {
  return request.headers.get('x-graph-relay-transport') === 'plain' ? 'plain' : 'long-poll';
}

/** The error for the caller; a fault of ours goes into the log in full. */
export function logged(error: unknown, log: Log) {
  const relay = asRelayError(error);
  if (relay.code === 'internal') log.error('relay.fault', { err: error });
  return relay;
}
