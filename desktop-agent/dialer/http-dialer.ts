/**
 * Reaches the relay over HTTP.
 *
 * `httpLink` only: a batch would make a short call wait for the whole hold of another, and the retrying links own
 * timers of their own.
 */
import { httpLink } from '@trpc/client';
import { TRPC_PATH } from '../../protocol/api.ts';
import { RelayError } from '../../protocol/errors.ts';
import type { Clock } from '../../protocol/ports.ts';
import { PROTOCOL_HEADER, PROTOCOL_VERSION } from '../../protocol/versions.ts';
import type { Dialer } from '../ports.ts';
import { createTrpcDialer } from './trpc-dialer.ts';

export interface HttpDialerOptions {
  /** The relay's address, for example `https://relay.example`. */
  readonly url: string;
  /** The desktop's token, as it is now. */
  readonly token: () => string;
  readonly clock: Clock;
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  /** Lets go of pooled connections, where there is a pool. */
  readonly renew?: () => void;
  /** Named to the relay for its log and its callers. */
  readonly transport: 'long-poll' | 'plain';
}

export function createHttpDialer(options: HttpDialerOptions): Dialer {
  const { url, clock, transport } = options;
  const link = httpLink({
    url: new URL(TRPC_PATH, url).href,
    fetch: async (input, init) => {
      const response = await options.fetch(input as string | URL, init as RequestInit);
      if (isJson(response)) return response;
      // tRPC would try to read somebody's web page as an answer, and lose the status on the way.
      void response.body?.cancel().catch(() => {});
      throw new RelayError(
        'not-a-relay',
        `Something between here and ${url} answered with status ${response.status} in its place.`,
      );
    },
    headers: () => ({
      authorization: `Bearer ${options.token()}`,
      'x-graph-relay-transport': transport,
      [PROTOCOL_HEADER]: String(PROTOCOL_VERSION),
    }),
  });
  return createTrpcDialer({ url, clock, link, renew: () => options.renew?.() });
}

function isJson(response: Response): boolean {
  return response.headers.get('content-type')?.startsWith('application/json') ?? false;
}
