/** One dialer for each transport, to the same relay with the same token. */
import type { Dialers } from '../transports.ts';
import { createHttpDialer, type HttpDialerOptions } from './http-dialer.ts';
import { createSocketDialer } from './socket-dialer.ts';
import type { SocketLinkOptions } from './socket-link.ts';

export type DialersOptions = Omit<HttpDialerOptions, 'transport'> & SocketLinkOptions;

export function createDialers(options: DialersOptions): Dialers {
  return {
    'long-poll': createHttpDialer({ ...options, transport: 'long-poll' }),
    websocket: createSocketDialer(options),
    plain: createHttpDialer({ ...options, transport: 'plain' }),
  };
}
