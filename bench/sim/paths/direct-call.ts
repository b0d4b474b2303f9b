/** One call of the short way: a handler is called with a copy of the input, and its answer or error is copied back. */
import type { CallContext, RelayHandlers } from '../../../protocol/api.ts';
import { asRelayError, type ErrorCode } from '../../../protocol/errors.ts';
import { refuseUnservedVersion, SERVED_VERSIONS } from '../../../protocol/versions.ts';
import type { CallKind } from '../history.ts';

export interface Call {
  readonly kind: CallKind;
  readonly input: unknown;
}

/** An answer as it travels: what a handler returned, or the error that it threw. */
export type Reply =
  | { readonly value: unknown }
  | { readonly error: { readonly code: ErrorCode; readonly message: string } };

/** Calls a handler with a copy of the input, as if it had come from elsewhere. Never rejects. */
export async function callHandler(calls: RelayHandlers, call: Call, context: CallContext): Promise<Reply> {
  try {
    const handler = calls[call.kind] as (input: unknown, context: CallContext) => Promise<unknown>;
    return { value: copy(await handler(copy(call.input), context)) };
  } catch (error) {
    return refusalIn(error);
  }
}

/** What comes before any handler: the answer to a desktop that names these versions; null when one of them is served. */
export function versionRefusal(names: string | null): Reply | null {
  try {
    refuseUnservedVersion(names, SERVED_VERSIONS);
    return null;
  } catch (error) {
    return refusalIn(error);
  }
}

function refusalIn(error: unknown): Reply {
  const { code, message } = asRelayError(error);
  return { error: { code, message } };
}

function copy(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
