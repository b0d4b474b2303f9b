/**
 * Dialers whose token is renewed when it has to be, without anybody above noticing.
 *
 * Owns one retry: a call that was refused is sent again once, with a new token. Every call to the relay may be made twice.
 */
import { asRelayError } from '../../protocol/errors.ts';
import type { Dialer } from '../ports.ts';
import type { Dialers } from '../transports.ts';
import type { Credentials } from './credentials.ts';

export function renewingDialers(dialers: Dialers, credentials: Credentials): Dialers {
  return {
    'long-poll': renewing(dialers['long-poll'], credentials),
    websocket: renewing(dialers.websocket, credentials),
    plain: renewing(dialers.plain, credentials),
  };
}

function renewing(dialer: Dialer, credentials: Credentials): Dialer {
  async function send<A>(call: () => Promise<A>): Promise<A> {
    await credentials.ready();
    const token = credentials.token();
    try {
      return await call();
    } catch (error) {
      if (asRelayError(error).code !== 'unauthorized') throw error;
      await credentials.refused(token);
      return call();
    }
  }
  return {
    ...dialer,
    sync: (input, at) => send(() => dialer.sync(input, at)),
    control: (input, at) => send(() => dialer.control(input, at)),
    complete: (input, at) => send(() => dialer.complete(input, at)),
    probe: (input, at) => send(() => dialer.probe(input, at)),
  };
}
