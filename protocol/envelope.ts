/**
 * The bound of a result, the same for both sides: the length of the envelope's JSON text in UTF-16 code units, not in
 * bytes, all or nothing. The envelope is the published one; what else travels with a completion does not count.
 */

/** What surrounds the result. Members that are left out are left out of the text. */
export interface EnvelopeHead {
  readonly execution_id: string;
  readonly status: string;
  readonly total_tokens?: number | null | undefined;
  readonly reported_cost?: number | null | undefined;
}

/** Length of `JSON.stringify({execution_id, status, result, total_tokens, reported_cost})`. */
export function envelopeChars(head: EnvelopeHead, resultJson: string): number {
  const { execution_id, status, total_tokens, reported_cost } = head;
  const around = JSON.stringify({ execution_id, status, result: null, total_tokens, reported_cost });
  return around.length - 'null'.length + resultJson.length;
}
