/**
 * Calls from a command line to the running process, over the local socket, with tRPC's types.
 */
import { createTRPCClient, httpLink, TRPCClientError } from '@trpc/client';
import { type AnyTRPCRouter, initTRPC } from '@trpc/server';
import { fetchRequestHandler } from '@trpc/server/adapters/fetch';
import { errorFromWire, formatError } from '../trpc-errors.ts';
import { isNotRunning, localFetch, localSocketPath } from './local-socket.ts';

const ENDPOINT = '/local';

/** The builder for routers that are served on the local socket. */
export const localTrpc = initTRPC.create({ isDev: false, errorFormatter: formatError });

export function localHandler(router: AnyTRPCRouter): (request: Request) => Promise<Response> {
  return (req) => fetchRequestHandler({ endpoint: ENDPOINT, req, router, createContext: () => ({}) });
}

/** A client for the process that runs on this data folder. */
export function localClient<Router extends AnyTRPCRouter>(dataDirectory: string) {
  const fetch = localFetch(localSocketPath(dataDirectory));
  return createTRPCClient<Router>({
    links: [
      httpLink<AnyTRPCRouter>({
        url: `http://localhost${ENDPOINT}`,
        fetch: (input, init) => fetch(input as string | URL, init as RequestInit),
      }) as ReturnType<typeof httpLink<Router>>,
    ],
  });
}

/** The error that the process answered with, as ours; null when the process is not running; others as they are. */
export function localCallError(error: unknown): unknown {
  if (isNotRunning(error)) return null;
  if (error instanceof TRPCClientError) return errorFromWire(error) ?? error;
  return error;
}
