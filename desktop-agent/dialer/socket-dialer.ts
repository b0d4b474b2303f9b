/** Reaches the relay over a WebSocket. */
import type { Dialer } from '../ports.ts';
import { renewableSocketLink, type SocketLinkOptions } from './socket-link.ts';
import { createTrpcDialer } from './trpc-dialer.ts';

export function createSocketDialer(options: SocketLinkOptions): Dialer {
  return createTrpcDialer({ url: options.url, clock: options.clock, ...renewableSocketLink(options) });
}
