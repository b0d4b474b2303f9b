/**
 * A run's outcome as the relay takes it: bounded and repaired, once, before it is written down.
 *
 * The bound counts characters of the envelope's JSON text, not bytes, and is all or nothing: there is no half result
 * to misread.
 */
import { envelopeChars } from '../protocol/envelope.ts';
import { repairedJson } from '../protocol/json-text.ts';
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
  const resultJson = repairedJson(outcome.resultJson);
  const chars = envelopeChars({ ...head, ...tail }, resultJson);
  if (chars > RESULT_ENVELOPE_CHARS) return { ...head, result_truncated: true, result_chars: chars };
  return { ...head, result: JSON.parse(resultJson), ...tail };
}
