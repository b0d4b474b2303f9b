/**
 * A connection for a WebSocket through an HTTP proxy: CONNECT first, then TLS where the address asks for it.
 *
 * Always a tunnel, also for `ws:`: a proxy that forwards requests would read the upgrade as one of its own. Node's agents
 * tunnel for `https:` only, and `fetch` has its own way; so this small part is here.
 */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type Socket } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { type ProxyEnvironment, proxyFor, shownProxy } from './proxy-settings.ts';

/** A proxy that does not answer a CONNECT within this is taken for dead. */
const CONNECT_MS = 10_000;

type OnSocket = (error: Error | null, socket?: Socket) => void;

/** For `createConnection` of a client request; undefined when no proxy is named for this address. */
export function tunnelFor(address: string, environment: ProxyEnvironment): (() => Socket) | undefined {
  const proxy = proxyFor(address, environment);
  if (proxy === null) return undefined;
  // The socket comes through the callback, which the types do not know of.
  const create = (_options: unknown, onSocket: OnSocket) => openTunnel(proxy, new URL(address), onSocket);
  return create as unknown as () => Socket;
}

function openTunnel(proxy: URL, target: URL, onSocket: OnSocket): void {
  const isSecure = target.protocol === 'wss:';
  const authority = `${target.hostname}:${target.port || (isSecure ? 443 : 80)}`;
  const failed = (reason: string, cause?: unknown) =>
    onSocket(new Error(`the proxy ${shownProxy(proxy)} ${reason}`, { cause }));
  const connect = proxy.protocol === 'https:' ? httpsRequest : httpRequest;
  const request = connect({
    host: proxy.hostname.replace(/^\[|\]$/g, ''),
    port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
    method: 'CONNECT',
    path: authority,
    headers: { host: authority, ...proxyAuthorization(proxy) },
    timeout: CONNECT_MS,
    agent: false,
  });
  request.once('connect', (response, socket: Socket) => {
    // A limit for the CONNECT only: what the tunnel may do is up to the WebSocket.
    socket.setTimeout(0);
    if (response.statusCode !== 200) {
      socket.destroy();
      failed(`answered CONNECT with status ${response.statusCode}`);
    } else {
      onSocket(null, isSecure ? overTls(socket, target.hostname) : socket);
    }
  });
  request.once('timeout', () => request.destroy(new Error(`no answer within ${CONNECT_MS} ms`)));
  request.once('error', (error) => failed(`cannot be used: ${error.message}`, error));
  request.end();
}

function overTls(socket: Socket, host: string): Socket {
  return tlsConnect({ socket, host, ...(isIP(host) === 0 && { servername: host }) });
}

function proxyAuthorization({ username, password }: URL): Record<string, string> {
  if (username === '') return {};
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}` };
}
