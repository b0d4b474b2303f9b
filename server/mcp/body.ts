/**
 * The body of an MCP request as JSON, or the refusal to send instead.
 *
 * Must not know what is in it.
 */
import { asRelayError } from '../../protocol/errors.ts';
import { readBody } from '../body.ts';
import { type InexactPlace, parseExactly } from '../exact-json.ts';
import { type Refusal, RPC } from './responses.ts';

export type Body =
  | { readonly json: unknown; readonly inexact: readonly InexactPlace[] }
  | { readonly refusal: Refusal };

export async function readJsonBody(request: Request, maxBytes: number): Promise<Body> {
  let bytes: Uint8Array;
  try {
    bytes = await readBody(request, maxBytes);
  } catch (error) {
    const { code, message } = asRelayError(error);
    return code === 'too-large' ? { refusal: { status: 413, code: RPC.http, message } } : unreadable(message);
  }
  try {
    return parseExactly(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return unreadable('The request body is not JSON in UTF-8. Post one JSON-RPC message.');
  }
}

function unreadable(message: string): Body {
  return { refusal: { status: 400, code: RPC.parseError, message: `Parse error: ${message}` } };
}
