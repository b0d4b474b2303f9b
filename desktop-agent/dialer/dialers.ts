/** One dialer for each transport, to the same relay with the same token. */
import type { Dialers } from '../transports.ts';
import { createHttpDialer, type HttpDialerOptions } from './http-dialer.ts';
import { createSocketDialer } from './socket-dialer.ts';
import type { OpenSocket } from './socket-link.ts';

export function createDialers(options: Omit<HttpDialerOptions, 'transport'> & { readonly open: OpenSocket }): Dialers {
  return {
    'long-poll': createHttpDialer({ ...options, transport: 'long-poll' }),
    websocket: createSocketDialer(options),
    plain: createHttpDialer({ ...options, transport: 'plain' }),
  };
}
