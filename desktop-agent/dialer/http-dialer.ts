/**
 * Reaches the relay over HTTP with tRPC's own client.
 *
 * Owns: deadlines, and what a failed call means in our codes. `httpLink` only: a batch would make a short call wait
 * for the whole hold of another, and the retrying links own timers of their own.
 */
import { createTRPCClient, httpLink, TRPCClientError } from '@trpc/client';
import type { z } from 'zod';
import { type RelayRouter, TRPC_PATH } from '../../protocol/api.ts';
import { RelayError } from '../../protocol/errors.ts';
import { DEADLINE_MARGIN_MS } from '../../protocol/limits.ts';
import type { Clock } from '../../protocol/ports.ts';
import { completeAnswerSchema, controlAnswerSchema, syncAnswerSchema } from '../../protocol/schemas.ts';
import { errorFromWire } from '../../protocol/trpc-errors.ts';
import type { Dialer } from '../ports.ts';

export interface HttpDialerOptions {
  /** The relay's address, for example `https://relay.example`. */
  readonly url: string;
  /** The desktop's token, as it is now. */
  readonly token: () => string;
  readonly clock: Clock;
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  /** Named to the relay for its log and its callers. */
  readonly transport: 'long-poll' | 'plain';
}

interface Call<S extends z.ZodType> {
  readonly schema: S;
  readonly holdMs: number;
  /** Aborted when the caller does not want the answer any more. */
  readonly signal: AbortSignal;
  readonly send: (options: { signal: AbortSignal }) => Promise<unknown>;
}

export function createHttpDialer(options: HttpDialerOptions): Dialer {
  const { clock, url } = options;
  const client = createTRPCClient<RelayRouter>({
    links: [
      httpLink({
        url: new URL(TRPC_PATH, url).href,
        fetch: async (input, init) => onlyJson(await options.fetch(input as string | URL, init as RequestInit), url),
        headers: () => ({
          authorization: `Bearer ${options.token()}`,
          'x-graph-relay-transport': options.transport,
        }),
      }),
    ],
  });

  /** Calls with a deadline of the asked hold plus a margin, and takes the answer only when it has its shape. */
  async function call<S extends z.ZodType>({ schema, holdMs, signal, send }: Call<S>): Promise<z.infer<S>> {
    const deadline = new AbortController();
    const deadlineMs = holdMs + DEADLINE_MARGIN_MS;
    const timer = clock.after(deadlineMs, () => deadline.abort());
    const aborted = () => deadline.abort();
    signal.addEventListener('abort', aborted, { once: true });
    if (signal.aborted) deadline.abort();
    try {
      const parsed = schema.safeParse(await send({ signal: deadline.signal }));
      if (parsed.success) return parsed.data;
      throw new RelayError('not-a-relay', `The answer of ${url} has not the form of a relay's. Is the address right?`);
    } catch (error) {
      if (deadline.signal.aborted && !signal.aborted) {
        throw new RelayError('deadline-exceeded', `${url} did not answer within ${deadlineMs} ms.`, { cause: error });
      }
      throw errorOf(error, url);
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', aborted);
    }
  }

  const { relay } = client;
  return {
    sync: (input, { signal }) =>
      call({ schema: syncAnswerSchema, holdMs: input.hold_ms, signal, send: (s) => relay.sync.mutate(input, s) }),
    control: (input, { signal }) =>
      call({ schema: controlAnswerSchema, holdMs: input.hold_ms, signal, send: (s) => relay.control.mutate(input, s) }),
    complete: (input, { signal }) =>
      call({ schema: completeAnswerSchema, holdMs: 0, signal, send: (s) => relay.complete.mutate(input, s) }),
  };
}

/** A proxy's page is told by its type, before anybody reads it as an answer. */
async function onlyJson(response: Response, url: string): Promise<Response> {
  if (/^application\/json\b/i.test(response.headers.get('content-type') ?? '')) return response;
  await response.body?.cancel();
  throw notARelay(url, `answered with status ${response.status}`);
}

function notARelay(url: string, what: string, cause?: unknown): RelayError {
  return new RelayError('not-a-relay', `Something between here and ${url} ${what} in its place.`, { cause });
}

/** The relay's own error when it sent one; otherwise what became of the call. */
function errorOf(error: unknown, url: string): RelayError {
  if (error instanceof RelayError) return error;
  if (error instanceof TRPCClientError) {
    const sent = errorFromWire(error);
    if (sent !== null) return sent;
    if (error.cause instanceof RelayError) return error.cause;
    if (error.cause instanceof SyntaxError) return notARelay(url, 'sent something that is no JSON', error);
    const { status } = (error.meta?.response ?? {}) as { status?: number };
    if (status !== undefined) return notARelay(url, `answered with status ${status}`, error);
  }
  return new RelayError('unreachable', `${url} cannot be reached: ${reasonOf(error)}.`, { cause: error });
}

/** The innermost message: `fetch failed` alone helps nobody. */
function reasonOf(error: unknown): string {
  let inner = error;
  for (let depth = 0; depth < 5 && inner instanceof Error && inner.cause instanceof Error; depth++) inner = inner.cause;
  return inner instanceof Error ? inner.message || inner.name : String(inner);
}
