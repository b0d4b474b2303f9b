/**
 * Calls from a command line to the running process, over the local socket, with tRPC's types.
 */
import { createTRPCClient, httpLink, TRPCClientError } from '@trpc/client';
import { type AnyTRPCRouter, initTRPC } from '@trpc/server';
import { fetchRequestHandler } from '@trpc/server/adapters/fetch';
import { errorFromWire, formatError } from '../trpc-errors.ts';
import { pause, stopwatch } from '../waiting.ts';
import { ExitError } from './exit-codes.ts';
import { isNotRunning, localFetch, localSocketPath } from './local-socket.ts';
import { systemClock } from './system-ports.ts';

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
  if (!(error instanceof TRPCClientError)) return error;
  // On this side of the socket, before anything was asked.
  return error.cause instanceof ExitError ? error.cause : (errorFromWire(error) ?? error);
}

/** How long an owner's command waits for another one that has the folder open. They are done in a moment. */
const TURN_MS = 3_000;
const TURN_PAUSE_MS = 100;

/**
 * Asks the running process, or does the same on its folder when none runs. Two commands at once take turns, instead of one
 * naming the other as the process that is in its way.
 */
export async function runningOrOpened<T>(ways: { remote: () => Promise<T>; opened: () => Promise<T> }): Promise<T> {
  const since = stopwatch(systemClock);
  for (;;) {
    try {
      return await ways.remote();
    } catch (error) {
      const answered = localCallError(error);
      if (answered !== null) throw answered;
    }
    try {
      return await ways.opened();
    } catch (error) {
      const taken = error instanceof ExitError && error.exit === 'locked';
      if (!taken || since() > TURN_MS) throw error;
      await pause(systemClock, TURN_PAUSE_MS, new AbortController().signal);
    }
  }
}
