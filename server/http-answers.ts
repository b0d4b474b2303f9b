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

export function json(status: number, body: unknown): Response {
  return withRetryAfter(
    new Response(JSON.stringify(body), {
      status,
      headers: { 'content-type': JSON_TYPE, 'cache-control': 'no-store' },
    }),
  );
}

/** Too many requests, and not now: both pass, and a client that is told when comes back neither too early nor at once. */
export function withRetryAfter(response: Response): Response {
  if (response.status === 429 || response.status === 503) {
    response.headers.set('retry-after', String(RETRY_AFTER_SECONDS));
  }
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
  const data = { relayCode: error.code, httpStatus: http };
  return challenging(json(http, { error: { message: error.message, code: -32_000, data } }));
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
