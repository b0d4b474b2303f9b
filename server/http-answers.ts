/**
 * What the relay's HTTP answers have in common: JSON in UTF-8, when to try again, and which protocol is spoken.
 *
 * Must not decide what is answered. The MCP endpoint has its own (`mcp/responses.ts`), in JSON-RPC's shape.
 */
import { ERRORS, type RelayError } from '../protocol/errors.ts';
import { RETRY_AFTER_SECONDS } from '../protocol/limits.ts';
import { namedVersions, PROTOCOL_HEADER } from '../protocol/versions.ts';

/** Some clients take an answer that names no character set for Latin-1. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** `retryAfterSeconds`: for an answer that passes, when it is known how soon. */
export function json(status: number, body: unknown, retryAfterSeconds?: number): Response {
  return withRetryAfter(
    new Response(JSON.stringify(body), {
      status,
      headers: { 'content-type': JSON_TYPE, 'cache-control': 'no-store' },
    }),
    retryAfterSeconds,
  );
}

/** Too many requests, and not now: both pass, and a client that is told when comes back neither too early nor at once. */
export function withRetryAfter(response: Response, seconds = RETRY_AFTER_SECONDS): Response {
  const passes = response.status === 429 || response.status === 503;
  if (passes && !response.headers.has('retry-after')) response.headers.set('retry-after', String(seconds));
  return response;
}

/** Names the versions that are served there, in good answers and in refusals. */
export function withVersions(response: Response, served: readonly number[]): Response {
  response.headers.set(PROTOCOL_HEADER, namedVersions(served));
  return response;
}

/** Errors outside of tRPC, in tRPC's own shape, so that a desktop reads one form only. */
export function trpcErrorAnswer(error: RelayError): Response {
  const { http } = ERRORS[error.code];
  return challenging(json(http, trpcError(error), error.retryAfterSeconds));
}

/** An error as tRPC writes it. */
export function trpcError({ code, message }: RelayError): { readonly error: object } {
  return { error: { message, code: -32_000, data: { relayCode: code, httpStatus: ERRORS[code].http } } };
}

/** A refused token comes with the scheme to use, as HTTP asks for. */
export function challenging(response: Response): Response {
  if (response.status === 401) response.headers.set('www-authenticate', 'Bearer');
  return response;
}

/** The bearer token of a request; empty when there is none. */
export function bearerOf(header: string | null | undefined): string {
  const [scheme, token] = (header ?? '').split(' ');
  return scheme?.toLowerCase() === 'bearer' && token ? token : '';
}
