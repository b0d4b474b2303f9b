/**
 * The tRPC router of the relay, built from a handlers interface. A desktop gets its types from here without importing
 * the server.
 *
 * Owns the names of the calls and who may be told what about the caller; the shapes are in schemas.ts.
 */
import { initTRPC } from '@trpc/server';
import { RelayError } from './errors.ts';
import {
  type CompleteAnswer,
  type CompleteInput,
  type ControlAnswer,
  type ControlInput,
  completeInputSchema,
  controlInputSchema,
  type ProbeAnswer,
  type ProbeInput,
  probeInputSchema,
  type SyncAnswer,
  type SyncInput,
  syncInputSchema,
} from './schemas.ts';
import { answering, describeInputError, formatError } from './trpc-errors.ts';

/** Where a desktop's calls go, below the server's address. */
export const TRPC_PATH = '/trpc';

export type TransportName = 'long-poll' | 'websocket' | 'plain';

/** Who calls, and whether the answer is still wanted. */
export interface CallContext {
  readonly desktopId: string;
  readonly transport: TransportName;
  /** Aborted when the caller has gone away. */
  readonly signal: AbortSignal;
}

export interface RelayHandlers {
  sync(input: SyncInput, context: CallContext): Promise<SyncAnswer>;
  control(input: ControlInput, context: CallContext): Promise<ControlAnswer>;
  complete(input: CompleteInput, context: CallContext): Promise<CompleteAnswer>;
  /**
   * A completion that does not fit its schema. It is refused, and would be refused again: its command has to end all
   * the same. `problem` says what is wrong, for a person.
   */
  unreadableCompletion(report: unknown, problem: string, context: CallContext): Promise<void>;
  probe(input: ProbeInput, context: CallContext): Promise<ProbeAnswer>;
}

const t = initTRPC.context<CallContext>().create({ isDev: false, errorFormatter: formatError });

export function createRelayRouter(handlers: RelayHandlers) {
  const endingUnreadable = t.middleware(async ({ ctx, getRawInput, next }) => {
    const result = await next();
    if (!result.ok && result.error.code === 'BAD_REQUEST' && !(result.error.cause instanceof RelayError)) {
      const problem = describeInputError(result.error.cause);
      await answering(handlers.unreadableCompletion(await getRawInput(), problem, ctx));
    }
    return result;
  });
  return t.router({
    relay: t.router({
      sync: t.procedure.input(syncInputSchema).mutation(({ input, ctx }) => answering(handlers.sync(input, ctx))),
      control: t.procedure
        .input(controlInputSchema)
        .mutation(({ input, ctx }) => answering(handlers.control(input, ctx))),
      complete: t.procedure
        .use(endingUnreadable)
        .input(completeInputSchema)
        .mutation(({ input, ctx }) => answering(handlers.complete(input, ctx))),
      probe: t.procedure.input(probeInputSchema).mutation(({ input, ctx }) => answering(handlers.probe(input, ctx))),
    }),
  });
}

export type RelayRouter = ReturnType<typeof createRelayRouter>;
