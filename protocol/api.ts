/**
 * The tRPC router of the relay, built from a handlers interface. A desktop gets its types from here without importing
 * the server.
 *
 * Owns the names of the calls and who may be told what about the caller; the shapes are in schemas.ts.
 */
import { initTRPC } from '@trpc/server';
import {
  type CompleteAnswer,
  type CompleteInput,
  type ControlAnswer,
  type ControlInput,
  completeInputSchema,
  controlInputSchema,
  type SyncAnswer,
  type SyncInput,
  syncInputSchema,
} from './schemas.ts';
import { answering, formatError } from './trpc-errors.ts';

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
}

const t = initTRPC.context<CallContext>().create({ isDev: false, errorFormatter: formatError });

export function createRelayRouter(handlers: RelayHandlers) {
  return t.router({
    relay: t.router({
      sync: t.procedure.input(syncInputSchema).mutation(({ input, ctx }) => answering(handlers.sync(input, ctx))),
      control: t.procedure
        .input(controlInputSchema)
        .mutation(({ input, ctx }) => answering(handlers.control(input, ctx))),
      complete: t.procedure
        .input(completeInputSchema)
        .mutation(({ input, ctx }) => answering(handlers.complete(input, ctx))),
    }),
  });
}

export type RelayRouter = ReturnType<typeof createRelayRouter>;
