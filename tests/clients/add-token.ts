/**
 * Passes requests on to a relay with a bearer token: for a suite that cannot send one.
 *
 * Must change nothing else, so that what the suite sees is the relay.
 */
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

/** Gives back the address to use in place of the relay's. */
export async function addToken(t: Test, relayUrl: string, token: string): Promise<string> {
  const server = createServer((request, response) => passOn(request, response, { relayUrl, token }));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Onward {
  readonly relayUrl: string;
  readonly token: string;
}

function passOn(request: IncomingMessage, response: ServerResponse, { relayUrl, token }: Onward): void {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const onward = httpRequest(new URL(request.url ?? '/', relayUrl), { method: request.method ?? 'GET', headers });
  onward.once('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.once('error', () => response.destroy());
  response.once('close', () => onward.destroy());
  request.pipe(onward);
}
