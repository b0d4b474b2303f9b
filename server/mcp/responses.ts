/**
 * HTTP answers of the MCP endpoint that are not the SDK's, and what every answer has in common.
 *
 * Owns the JSON-RPC shape of refusals and the character set. Must not decide whether something is refused.
 */
import type { ErrorCode } from '../../protocol/errors.ts';

/** JSON-RPC's own codes, and the one that MCP servers use for what HTTP refuses. */
export const RPC = { parseError: -32_700, invalidRequest: -32_600, internal: -32_603, http: -32_000 } as const;

export type RequestId = string | number | null;

export interface Refusal {
  readonly status: number;
  readonly code: number;
  /** Ours, where there is one: it stays, whatever the message says. */
  readonly relayCode?: ErrorCode;
  /** What happened and what to do, for whoever reads the client's error. */
  readonly message: string;
  readonly id?: RequestId;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A refusal on the HTTP level, in a body that JSON-RPC clients can match with their request. */
export function refuse({ status, code, relayCode, message, id = null, headers = {} }: Refusal): Response {
  const data = relayCode === undefined ? {} : { data: { relayCode, httpStatus: status } };
  return Response.json({ jsonrpc: '2.0', error: { code, message, ...data }, id }, { status, headers });
}

/** The id to answer with: that of a single request. A batch, a notification and garbage have none. */
export function requestIdOf(body: unknown): RequestId {
  if (typeof body !== 'object' || body === null || !('id' in body) || !('method' in body)) return null;
  return typeof body.id === 'string' || typeof body.id === 'number' ? body.id : null;
}

/**
 * Names the character set, since some clients take JSON and event streams without one for Latin-1. In event streams it
 * also escapes the characters that some clients take for the end of a line.
 */
export function withCharset(response: Response): Response {
  const type = response.headers.get('content-type');
  if (type === null) return response;
  if (type.startsWith('application/json')) {
    response.headers.set('content-type', 'application/json; charset=utf-8');
    return response;
  }
  if (!type.startsWith('text/event-stream') || response.body === null) return response;
  const headers = new Headers(response.headers);
  headers.set('content-type', 'text/event-stream; charset=utf-8');
  // The SDK asks for keep-alive; that is between the HTTP server and its peer, and HTTP/2 forbids it.
  headers.delete('connection');
  return new Response(response.body.pipeThrough(lineEndEscaper()), { status: response.status, headers });
}

/** NEL, LINE SEPARATOR and PARAGRAPH SEPARATOR. In our streams they occur inside JSON strings only. */
const UNICODE_LINE_ENDS = /[\u0085\u2028\u2029]/g;

function lineEndEscaper(): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  return new TransformStream({
    transform(chunk, controller) {
      const text = decoder.decode(chunk, { stream: true });
      controller.enqueue(encoder.encode(text.replace(UNICODE_LINE_ENDS, jsonEscape)));
    },
  });
}

function jsonEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
