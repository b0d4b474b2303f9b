/**
 * Our errors on tRPC's wire, both ways: what a server sends, and what a client makes of it.
 *
 * Unknown errors leave as `internal`, without message or stack.
 */
import { TRPCError } from '@trpc/server';
import { asRelayError, ERRORS, type ErrorCode, isErrorCode, RelayError } from './errors.ts';

/** What an error of ours looks like to the calling side. */
export interface WireErrorData {
  readonly relayCode: ErrorCode;
  readonly httpStatus: number;
}

/** For `initTRPC.create({ errorFormatter })`. */
export function formatError({ shape, error }: { shape: { code: number }; error: TRPCError }) {
  const relay = relayErrorOf(error);
  const data: WireErrorData = { relayCode: relay.code, httpStatus: ERRORS[relay.code].http };
  return { code: shape.code, message: relay.message, data };
}

/** Turns a handler's error into tRPC's, so that status and close code follow from our table. */
export async function answering<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const relay = asRelayError(error);
    throw new TRPCError({ code: ERRORS[relay.code].trpc, message: relay.message, cause: relay });
  }
}

/** The error that the other side sent, from the data of tRPC's client error; null when it sent none of ours. */
export function errorFromWire(error: { message: string; data?: unknown }): RelayError | null {
  const code = (error.data as Partial<WireErrorData> | null | undefined)?.relayCode;
  return isErrorCode(code) ? new RelayError(code, error.message, { cause: error }) : null;
}

function relayErrorOf(error: TRPCError): RelayError {
  if (error.cause instanceof RelayError) return error.cause;
  switch (error.code) {
    case 'BAD_REQUEST':
    case 'PARSE_ERROR':
      return new RelayError('invalid-input', describeInputError(error.cause));
    case 'PAYLOAD_TOO_LARGE':
      return new RelayError('too-large', error.message);
    case 'NOT_FOUND':
    case 'METHOD_NOT_SUPPORTED':
    case 'UNSUPPORTED_MEDIA_TYPE':
      return new RelayError('invalid-input', 'There is no such call here. Calls are posted as JSON.');
    default:
      return asRelayError(error.cause ?? error);
  }
}

/** The first problems of a rejected input, each with its path. */
export function describeInputError(cause: unknown): string {
  const issues = (cause as { issues?: { path: PropertyKey[]; message: string }[] } | undefined)?.issues;
  if (!issues?.length) return 'The request is not valid JSON for this call.';
  const shown = issues
    .slice(0, 3)
    .map(({ path, message }) => `${path.map(String).join('.') || 'the input'}: ${message}`);
  const more = issues.length > shown.length ? ` (and ${issues.length - shown.length} more)` : '';
  return `The request was refused: ${shown.join('; ')}${more}.`;
}
