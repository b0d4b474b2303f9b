/**
 * Passes requests on to a relay with a bearer token: for a suite that cannot send one.
 *
 * Owns the way only. What may be changed on it is up to who asks for it, and is a tool call's name and input at the most:
 * every answer is the relay's, as it came.
 */
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Test } from 'tap';

export interface ToolCall {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
}

/** The call to make in place of this one. */
export type Play = (call: ToolCall) => ToolCall;

export interface Onward {
  readonly relayUrl: string;
  readonly token: string;
  readonly play?: Play;
}

/** Gives back the address to use in place of the relay's. */
export async function addToken(t: Test, onward: Onward): Promise<string> {
  const server = createServer((request, response) => {
    passOn(request, response, onward).catch(() => response.destroy());
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function passOn(request: IncomingMessage, response: ServerResponse, onward: Onward): Promise<void> {
  const { relayUrl, token, play } = onward;
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const sent = await buffer(request);
  const body = play === undefined ? sent : played(sent, { headers, play });
  const to = httpRequest(new URL(request.url ?? '/', relayUrl), { method: request.method ?? 'GET', headers });
  to.once('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  to.once('error', () => response.destroy());
  response.once('close', () => to.destroy());
  to.end(body);
}

/** The body with the call to make in place of its own; the headers that repeat the call go with it. */
function played(sent: Buffer, { headers, play }: { headers: IncomingMessage['headers']; play: Play }): Buffer {
  const message = toolCallIn(sent);
  if (message === null) return sent;
  const { name, arguments: input, ...rest } = message.params;
  const call = play({ name, ...(input && { arguments: input }) });
  if (headers['mcp-name'] === name) headers['mcp-name'] = call.name;
  const body = Buffer.from(JSON.stringify({ ...message, params: { ...rest, ...call } }));
  headers['content-length'] = String(body.length);
  return body;
}

function toolCallIn(body: Buffer): { readonly method: string; readonly params: ToolCall } | null {
  try {
    const message = JSON.parse(body.toString());
    return message.method === 'tools/call' && typeof message.params?.name === 'string' ? message : null;
  } catch {
    return null;
  }
}
