/**
 * The closed table of errors that cross a border of this system, and what each one means for a retry.
 *
 * Code decides by `code`, never by message text. Messages are for people: what happened, to what, and what to do next.
 */

/**
 * What a caller does with an error of this code:
 * - `never`: the same request will be refused again;
 * - `now`: try again at once (once), the cause is already gone;
 * - `backoff`: try again after a growing, jittered pause;
 * - `reauthenticate`: get new credentials, then try again;
 * - `redial`: give up this connection, the next one may work.
 */
export type RetryClass = 'never' | 'now' | 'backoff' | 'reauthenticate' | 'redial';

/** The tRPC codes that are used; each maps to one HTTP status in tRPC's own table. */
export type TrpcCode =
  | 'BAD_REQUEST'
  | 'UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'CONFLICT'
  | 'PAYLOAD_TOO_LARGE'
  | 'TOO_MANY_REQUESTS'
  | 'INTERNAL_SERVER_ERROR'
  | 'SERVICE_UNAVAILABLE';

interface ErrorRow {
  readonly retry: RetryClass;
  readonly trpc: TrpcCode;
  /** HTTP status of plain-JSON and MCP routes; the same that tRPC sends for `trpc`. */
  readonly http: number;
  /** WebSocket close code (RFC 6455, 4000-4999 is private use). */
  readonly wsClose: number;
}

export const ERRORS = {
  /** No token, or one that is unknown or revoked. */
  unauthorized: { retry: 'reauthenticate', trpc: 'UNAUTHORIZED', http: 401, wsClose: 4401 },
  /** A valid token that may not do this (an agent's token on a desktop's route, a foreign project). */
  forbidden: { retry: 'never', trpc: 'FORBIDDEN', http: 403, wsClose: 4403 },
  /** Input that does not fit its schema. */
  'invalid-input': { retry: 'never', trpc: 'BAD_REQUEST', http: 400, wsClose: 4400 },
  /** A body above the limit; it was not read to its end. */
  'too-large': { retry: 'never', trpc: 'PAYLOAD_TOO_LARGE', http: 413, wsClose: 1009 },
  /** The command is not known here, or not this desktop's. */
  'unknown-command': { retry: 'never', trpc: 'NOT_FOUND', http: 404, wsClose: 4404 },
  /** A newer instance of the same desktop has taken over. The older one ends. */
  'session-replaced': { retry: 'never', trpc: 'CONFLICT', http: 409, wsClose: 4409 },
  /** The command has ended, or runs under another execution: this report will never be taken. */
  'execution-refused': { retry: 'never', trpc: 'CONFLICT', http: 409, wsClose: 4410 },
  /** The same idempotency key was used with other arguments. */
  'idempotency-conflict': { retry: 'never', trpc: 'CONFLICT', http: 409, wsClose: 4411 },
  /** The caller speaks no version of this protocol that is served here. It has to be updated, or the relay has. */
  'unsupported-protocol': { retry: 'never', trpc: 'BAD_REQUEST', http: 400, wsClose: 4426 },
  /** The caller has as many requests held as it may. */
  'too-many-held': { retry: 'backoff', trpc: 'TOO_MANY_REQUESTS', http: 429, wsClose: 4430 },
  /** The caller sends more requests than it may, or too many with tokens that open nothing. */
  'too-many-requests': { retry: 'backoff', trpc: 'TOO_MANY_REQUESTS', http: 429, wsClose: 4431 },
  /** A queue is full. */
  'queue-full': { retry: 'backoff', trpc: 'TOO_MANY_REQUESTS', http: 429, wsClose: 4429 },
  /** The disk refuses writes. What was asked may or may not have been recorded. */
  'store-unavailable': { retry: 'backoff', trpc: 'SERVICE_UNAVAILABLE', http: 503, wsClose: 4503 },
  /** The server is about to stop. */
  'shutting-down': { retry: 'redial', trpc: 'SERVICE_UNAVAILABLE', http: 503, wsClose: 1012 },
  /** A fault of ours; the log has the detail. */
  internal: { retry: 'backoff', trpc: 'INTERNAL_SERVER_ERROR', http: 500, wsClose: 1011 },
  /** No answer within the deadline. Only ever raised on the calling side. */
  'deadline-exceeded': { retry: 'redial', trpc: 'SERVICE_UNAVAILABLE', http: 504, wsClose: 4408 },
  /** No connection, or it broke. Only ever raised on the calling side. */
  unreachable: { retry: 'backoff', trpc: 'SERVICE_UNAVAILABLE', http: 503, wsClose: 1006 },
  /** Something answered that does not speak this protocol (a proxy's HTML page). Only raised on the calling side. */
  'not-a-relay': { retry: 'backoff', trpc: 'SERVICE_UNAVAILABLE', http: 502, wsClose: 4502 },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERRORS, value);
}

export interface RelayErrorOptions {
  readonly cause?: unknown;
  /** When it is known: after how long the same request can be taken. */
  readonly retryAfterSeconds?: number;
}

/** An error whose message may be shown to whoever made the request. */
export class RelayError extends Error {
  readonly code: ErrorCode;
  readonly retryAfterSeconds: number | undefined;
  constructor(code: ErrorCode, message: string, options: RelayErrorOptions = {}) {
    super(message, options);
    this.name = 'RelayError';
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
  get retry(): RetryClass {
    return ERRORS[this.code].retry;
  }
}

/** What strangers are told of a disk that refuses. */
export const STORE_REFUSES =
  'The disk of this relay refuses writes, so this could not be stored. Try again in a moment; its owner finds the reason in its log.';

/** The error as a stranger may read it: what the disk said names folders, and is for the log and the owner. */
export function withoutDisk(error: RelayError): RelayError {
  return error.code === 'store-unavailable' ? new RelayError(error.code, STORE_REFUSES, { cause: error }) : error;
}

/** The error as it is when it is one of ours, otherwise an `internal` one that tells the caller nothing. */
export function asRelayError(error: unknown): RelayError {
  if (error instanceof RelayError) return error;
  return new RelayError('internal', 'The relay failed to handle the request. Try again; its log has the detail.', {
    cause: error,
  });
}
