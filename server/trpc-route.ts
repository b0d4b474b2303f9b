/**
 * The desktop's calls over tRPC and HTTP: token, version and bound of the body, before tRPC sees the request.
 *
 * Owns which calls are being answered, so that all of a desktop's end when it is removed.
 */
import { fetchRequestHandler } from '@trpc/server/adapters/fetch';
import { type CallContext, type createRelayRouter, TRPC_PATH } from '../protocol/api.ts';
import { getOrMake } from '../protocol/collections.ts';
import { asRelayError, type RelayError } from '../protocol/errors.ts';
import { BODY_BYTES, CALLS_PER_BATCH } from '../protocol/limits.ts';
import type { Log } from '../protocol/ports.ts';
import { PROTOCOL_HEADER, refuseUnservedVersion, SERVED_VERSIONS } from '../protocol/versions.ts';
import { boundedRequest } from './body.ts';
import { JSON_TYPE, trpcErrorAnswer, withRetryAfter, withVersions } from './http-answers.ts';

export interface TrpcRouteOptions {
  readonly router: ReturnType<typeof createRelayRouter>;
  /** The desktop that sent the request with so many calls. Throws `unauthorized` when it is none of ours. */
  readonly authenticate: (request: Request, address: string, calls: number) => { readonly desktopId: string };
  readonly log: Log;
}

export interface TrpcRoute {
  /** `address`: where it comes from. */
  fetch(request: Request, address: string): Promise<Response>;
  /** Ends whatever this desktop has open here, held or still on its way to be held: it may not come in any more. */
  endOf(desktopId: string, error: RelayError): void;
}

export function createTrpcRoute({ router, authenticate, log }: TrpcRouteOptions): TrpcRoute {
  const open = new OpenCalls();

  async function answer(request: Request, address: string): Promise<Response> {
    const { desktopId } = authenticate(request, address, callsIn(request));
    const call = open.begin(desktopId, request.signal);
    try {
      refuseUnservedVersion(request.headers.get(PROTOCOL_HEADER), SERVED_VERSIONS);
      const req = await boundedRequest(request, BODY_BYTES);
      const context: CallContext = { desktopId, transport: transportOf(request), signal: call.signal };
      const served = { endpoint: TRPC_PATH, req, router, maxBatchSize: CALLS_PER_BATCH };
      const response = await fetchRequestHandler({ ...served, createContext: () => context });
      if (call.refusal !== null) throw call.refusal;
      response.headers.set('content-type', JSON_TYPE);
      return response;
    } finally {
      call.over();
    }
  }

  async function fetch(request: Request, address: string): Promise<Response> {
    const response = await answer(request, address).catch((error) => trpcErrorAnswer(logged(error, log)));
    return withVersions(withRetryAfter(response), SERVED_VERSIONS);
  }

  return { fetch, endOf: (desktopId, error) => open.end(desktopId, error) };
}

/** A call that is being answered. */
interface OpenCall {
  /** Aborted when the caller has gone away, or may not be there any more. */
  readonly signal: AbortSignal;
  /** What it is answered with in place of its answer. */
  readonly refusal: RelayError | null;
  over(): void;
}

/** The calls of each desktop that are being answered. */
class OpenCalls {
  readonly #calls = new Map<string, Set<(error: RelayError) => void>>();

  begin(desktopId: string, signal: AbortSignal): OpenCall {
    const controller = new AbortController();
    const gone = () => controller.abort();
    signal.addEventListener('abort', gone, { once: true });
    if (signal.aborted) gone();
    let refusal: RelayError | null = null;
    const refuse = (error: RelayError) => {
      refusal = error;
      controller.abort();
    };
    const calls = getOrMake(this.#calls, desktopId, () => new Set<(error: RelayError) => void>());
    calls.add(refuse);
    const over = () => {
      signal.removeEventListener('abort', gone);
      calls.delete(refuse);
      if (calls.size === 0 && this.#calls.get(desktopId) === calls) this.#calls.delete(desktopId);
    };
    return {
      signal: controller.signal,
      get refusal() {
        return refusal;
      },
      over,
    };
  }

  end(desktopId: string, error: RelayError): void {
    for (const refuse of [...(this.#calls.get(desktopId) ?? [])]) refuse(error);
  }
}

/** A desktop of the plain contract says so; it is a report for people, nothing depends on it. */
function transportOf(request: Request): CallContext['transport'] {
  return request.headers.get('x-graph-relay-transport') === 'plain' ? 'plain' : 'long-poll';
}

/** tRPC's batches name their calls in the path. */
function callsIn({ url }: Request): number {
  const { pathname, searchParams } = new URL(url);
  return searchParams.get('batch') === '1' ? pathname.split(',').length : 1;
}

/** The error for the caller; a fault of ours goes into the log in full. */
export function logged(error: unknown, log: Log) {
  const relay = asRelayError(error);
  if (relay.code === 'internal') log.error('relay.fault', { err: error });
  return relay;
}
