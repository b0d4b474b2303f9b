/**
 * A desktop's report of how a run ended, and reports that cannot be taken as they are.
 *
 * This is the border for results: bound, depth and characters are settled here once more, whatever the desktop did,
 * and everything that is stored or shown later comes from the settled value. Each report ends its run, even one that
 * is refused: a caller must not wait for a result that can never come.
 */
import { z } from 'zod';
import type { CallContext, RelayHandlers } from '../protocol/api.ts';
import { hasEnded } from '../protocol/command-machine.ts';
import { envelopeChars } from '../protocol/envelope.ts';
import { RelayError } from '../protocol/errors.ts';
import { commandIdSchema } from '../protocol/ids.ts';
import { repairedJson } from '../protocol/json-text.ts';
import { ERROR_CHARS, RESULT_ENVELOPE_CHARS } from '../protocol/limits.ts';
import type { CompleteAnswer, CompleteInput } from '../protocol/schemas.ts';
import { cleanText } from '../protocol/text.ts';
import { type DesktopCallsOptions, ownCommand } from './desktop-calls.ts';

/** What is read of a report that does not fit its schema. */
const brokenReportSchema = z.object({ command_id: commandIdSchema, execution_id: z.unknown().optional() });

type CompleteCalls = Pick<RelayHandlers, 'complete' | 'unreadableCompletion'>;

export function createCompleteCalls(options: DesktopCallsOptions): CompleteCalls {
  const { commands, desktops, dispatcher, ports, store } = options;

  async function complete(input: CompleteInput, context: CallContext): Promise<CompleteAnswer> {
    const { desktopId, transport } = context;
    desktops.contact(desktopId, transport);
    const row = ownCommand(commands, input.command_id, desktopId);
    if (row === null) {
      throw new RelayError(
        'unknown-command',
        `The relay has no command ${input.command_id} for this desktop, so its completion can never be stored.`,
      );
    }
    const other = row.executionId !== null && row.executionId !== input.execution_id;
    if (other && row.status !== 'cancelled') {
      throw new RelayError(
        'execution-refused',
        `Command ${row.commandId} belongs to another execution, so this completion can never be stored.`,
      );
    }
    const { completion, frozenResult } = bounded(input);
    const event = { type: 'complete', completion } as const;
    const extra = { frozenResult, ...(row.transport === null ? { transport } : {}) };
    const { changed } = commands.apply(row.commandId, event, extra);
    const sync_raised = input.capacity !== undefined && dispatcher.raiseCapacity(desktopId, input.capacity);
    await store.synced();
    if (!changed && !hasEnded(row.status))
      throw new Error(`completion of ${row.commandId} was not taken in status ${row.status}`);
    return { stored: true, already: !changed, sync_raised };
  }

  async function unreadableCompletion(report: unknown, problem: string, { desktopId }: CallContext): Promise<void> {
    const { data: ids } = brokenReportSchema.safeParse(report);
    const row = ids === undefined ? null : ownCommand(commands, ids.command_id, desktopId);
    if (ids === undefined || row === null || hasEnded(row.status)) return;
    const { execution_id } = ids;
    // Another execution's report says nothing of the one that goes on.
    if (typeof execution_id === 'string' && row.executionId !== null && !isSameId(execution_id, row.executionId))
      return;
    const text = cleanText(`The desktop's report of this run could not be taken. ${problem}`, ERROR_CHARS);
    ports.log.warn('command.unreadable-completion', { command_id: row.commandId, desktop_id: desktopId, problem });
    commands.apply(row.commandId, { type: 'interrupt', text });
    await store.synced();
  }

  return { complete, unreadableCompletion };
}

/** The completion as it is kept, with its result as JSON text. */
function bounded(input: CompleteInput): { completion: CompleteInput; frozenResult: string } {
  const frozenResult = repairedJson(JSON.stringify(input.result ?? null));
  const chars = envelopeChars(input, frozenResult);
  if (chars <= RESULT_ENVELOPE_CHARS) return { completion: input, frozenResult };
  const { result: _, ...head } = input;
  return { completion: { ...head, result_truncated: true, result_chars: chars }, frozenResult: 'null' };
}

function isSameId(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
