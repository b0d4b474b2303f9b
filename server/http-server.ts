/**
 * The relay on a TCP port: node:http in front of the fetch handler.
 *
 * Owns the time-outs of connections. Holds have their own limits; nothing here may be shorter than a hold.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { ExitError } from '../protocol/host/exit-codes.ts';

/** Longer than the idle time of common proxies (60 s), which would otherwise reuse a socket that is just being closed. */
const KEEP_ALIVE_MS = 75_000;
/** Longer than the keep-alive: it also runs while a kept connection waits for its next request. */
const HEADERS_MS = 80_000;
/** A request has to arrive whole within this; an answer may take as long as its hold. */
const REQUEST_MS = 120_000;

/** All headers of a request together; Node's own number, named so that it stays. */
const HEADER_BYTES = 16 * 1024;

/** Who sent a request, as far as the socket tells. */
export interface SocketPeer {
  readonly address: string;
}

export async function listenHttp(
  handler: (request: Request, peer: SocketPeer) => Promise<Response>,
  at: { host: string; port: number },
): Promise<{ server: Server; url: string }> {
  const server = createServer(
    {
      keepAliveTimeout: KEEP_ALIVE_MS,
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      maxHeaderSize: HEADER_BYTES,
    },
    getRequestListener((request, { incoming }) => handler(request, { address: incoming.socket.remoteAddress ?? '' }), {
      overrideGlobalObjects: false,
    }),
  );
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(at.port, at.host, () => {
      server.off('error', failed);
      done();
    });
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new ExitError(
      'port-busy',
      `Port ${at.port} on ${at.host} is taken by another program. Stop it, or choose another port with --port (0 takes any free one).`,
    );
  });
  const { port } = server.address() as AddressInfo;
  const host = at.host.includes(':') ? `[${at.host}]` : at.host;
  return { server, url: `http://${host}:${port}` };
}
