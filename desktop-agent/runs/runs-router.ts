/** The run history on the local socket: calls of the owner's command line to the desktop that runs. */
import { z } from 'zod';
import { localTrpc } from '../../protocol/host/local-calls.ts';
import { commandIdSchema } from '../../protocol/ids.ts';
import { HOLD_MAX_MS } from '../../protocol/limits.ts';
import { answering } from '../../protocol/trpc-errors.ts';
import { LISTED_RUNS, type RunDesk } from './run-desk.ts';

const listSchema = z.object({ limit: z.int().min(1).max(LISTED_RUNS.max) });
const runSchema = z.object({ run: z.string().min(1).max(100) });
const eventsSchema = z.object({
  /** All runs when it is left out. */
  command_id: commandIdSchema.optional(),
  after: z.int().min(0).optional(),
  wait_ms: z.int().min(0).max(HOLD_MAX_MS),
});

export function createRunsRouter(desk: RunDesk) {
  const { router, procedure } = localTrpc;
  return router({
    list: procedure.input(listSchema).mutation(({ input }) => answering(desk.list(input.limit))),
    show: procedure.input(runSchema).mutation(({ input }) => answering(desk.show(input.run))),
    cancel: procedure.input(runSchema).mutation(({ input }) => answering(desk.cancel(input.run))),
    /** Held until something happens, or `wait_ms` are over; the next call asks with `next`. */
    events: procedure
      .input(eventsSchema)
      .mutation(({ input, signal }) => answering(desk.events(input, signal ?? new AbortController().signal))),
  });
}
