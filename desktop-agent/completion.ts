/**
 * A run's outcome as the relay takes it: bounded, once, before it is written down.
 *
 * The bound counts characters of the envelope's JSON text, not bytes, and is all or nothing: there is no half result
 * to misread.
 */
import { ERROR_CHARS, RESULT_ENVELOPE_CHARS } from '../protocol/limits.ts';
import { cleanText } from '../protocol/text.ts';
import type { RunOutcome } from './ports.ts';
import type { OutboxRow } from './rows.ts';

export type Completion = OutboxRow['completion'];

export function completionOf(ids: { commandId: string; executionId: string }, outcome: RunOutcome): Completion {
  const { status, totalTokens, reportedCost } = outcome;
  const head = { command_id: ids.commandId, execution_id: ids.executionId, status };
  const tail = { total_tokens: totalTokens, reported_cost: reportedCost };
  const error = outcome.error === null ? {} : { error: cleanText(outcome.error, ERROR_CHARS) };
  if (outcome.resultJson === null) return { ...head, ...error, ...tail };
  const envelope = { execution_id: ids.executionId, status, result: null, ...tail };
  const chars = JSON.stringify(envelope).length - 'null'.length + outcome.resultJson.length;
  if (chars > RESULT_ENVELOPE_CHARS) return { ...head, result_truncated: true };
  return { ...head, result: JSON.parse(outcome.resultJson), ...tail };
}
