/**
 * The calls of a desktop through tRPC's own client, over whatever link.
 *
 * Owns: deadlines, the check that a relay has answered, and what a failed call means in our codes.
 */
import { createTRPCClient, TRPCClientError, type TRPCLink } from '@trpc/client';
import type { z } from 'zod';
import type { RelayRouter } from '../../protocol/api.ts';
import { RelayError } from '../../protocol/errors.ts';
import { DEADLINE_MARGIN_MS } from '../../protocol/limits.ts';
import type { Clock } from '../../protocol/ports.ts';
import {
  completeAnswerSchema,
  controlAnswerSchema,
  probeAnswerSchema,
  syncAnswerSchema,
} from '../../protocol/schemas.ts';
import { errorFromWire } from '../../protocol/trpc-errors.ts';
import type { CallOptions, Dialer } from '../ports.ts';

export interface TrpcDialerOptions {
  /** The relay's address, for messages. */
  readonly url: string;
  readonly clock: Clock;
  readonly link: TRPCLink<RelayRouter>;
  /** Gives up connections that may be dead. */
  readonly renew: () => void;
}

export function createTrpcDialer({ url, clock, link, renew }: TrpcDialerOptions): Dialer {
  const client = createTRPCClient<RelayRouter>({ links: [link] });

  /** Calls with a deadline of the asked hold plus a margin, and takes the answer only when it has its shape. */
  async function call<S extends z.ZodType>(
    expected: { schema: S; holdMs: number },
    { signal }: CallOptions,
    send: (signal: AbortSignal) => Promise<unknown>,
  ): Promise<z.infer<S>> {
    const deadline = new AbortController();
    const deadlineMs = expected.holdMs + DEADLINE_MARGIN_MS;
    const timer = clock.after(deadlineMs, () => deadline.abort());
    const aborted = () => deadline.abort();
    signal.addEventListener('abort', aborted, { once: true });
    if (signal.aborted) deadline.abort();
    try {
      const parsed = expected.schema.safeParse(await send(deadline.signal));
      if (parsed.success) return parsed.data;
      throw new RelayError('not-a-relay', `The answer of ${url} has not the form of a relay's. Is the address right?`);
    } catch (error) {
      if (deadline.signal.aborted && !signal.aborted) {
        // What was silent for this long may have company.
        renew();
        throw new RelayError('deadline-exceeded', `${url} did not answer within ${deadlineMs} ms.`, { cause: error });
      }
      throw errorOf(error, url);
    } finally {
      timer.cancel();
      signal.removeEventListener('abort', aborted);
    }
  }

  return {
    sync: (input, at) =>
      call({ schema: syncAnswerSchema, holdMs: input.hold_ms }, at, (signal) =>
        client.relay.sync.mutate(input, { signal }),
      ),
    control: (input, at) =>
      call({ schema: controlAnswerSchema, holdMs: input.hold_ms }, at, (signal) =>
        client.relay.control.mutate(input, { signal }),
      ),
    complete: (input, at) =>
      call({ schema: completeAnswerSchema, holdMs: 0 }, at, (signal) =>
        client.relay.complete.mutate(input, { signal }),
      ),
    probe: (input, at) =>
      call({ schema: probeAnswerSchema, holdMs: input.hold_ms }, at, (signal) =>
        client.relay.probe.mutate(input, { signal }),
      ),
    renew,
  };
}

/** The relay's own error when it sent one; otherwise what became of the call. */
function errorOf(error: unknown, url: string): RelayError {
  if (error instanceof RelayError) return error;
  if (error instanceof TRPCClientError) {
    const sent = errorFromWire(error);
    if (sent !== null) return sent;
    if (error.cause instanceof RelayError) return error.cause;
    if (error.cause instanceof SyntaxError) {
      const message = `Something between here and ${url} sent something that is no JSON in its place.`;
      return new RelayError('not-a-relay', message, { cause: error });
    }
    const status = (error.meta?.response as { status?: number } | undefined)?.status;
    if (status !== undefined) {
      const message = `Something between here and ${url} answered with status ${status} in its place.`;
      return new RelayError('not-a-relay', message, { cause: error });
    }
  }
  return new RelayError('unreachable', `${url} cannot be reached: ${reasonOf(error)}.`, { cause: error });
}

/** The innermost message: `fetch failed` alone helps nobody. */
function reasonOf(error: unknown): string {
  let inner = error;
  for (let depth = 0; depth < 5 && inner instanceof Error && inner.cause instanceof Error; depth++) inner = inner.cause;
  return inner instanceof Error ? inner.message || inner.name : String(inner);
}
