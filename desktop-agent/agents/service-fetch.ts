/**
 * `fetch` for the services of models: the desktop's own HTTP client, with what differs for them.
 *
 * Owns these differences. Services on this machine are asked directly, whatever proxy the environment names, since no
 * proxy can reach them. Each call has a connection of its own: an answer takes seconds, a new connection does not, and one
 * that died while the machine slept would be found by the deadline only.
 */
import type { Clock } from '../../protocol/ports.ts';
import { createHttpClient, type HttpClient } from '../dialer/http-client.ts';
import type { ProxyEnvironment } from '../dialer/proxy-settings.ts';

/** The longest answer that an agent may give, with JSON around it. Larger: a service that runs wild fills the memory. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

const THIS_MACHINE = /^(?:localhost|.+\.localhost|127(?:\.\d+){3}|\[::1\])$/;

export function serviceFetch(parts: {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly environment: ProxyEnvironment;
}): HttpClient['fetch'] {
  const limits = { clock: parts.clock, maxAnswerBytes: MAX_ANSWER_BYTES };
  const near = createHttpClient({ ...limits, environment: {} });
  const far = createHttpClient({ ...limits, environment: parts.environment });
  return (input, init) => {
    const { hostname } = new URL(input instanceof Request ? input.url : input);
    const client = THIS_MACHINE.test(hostname) ? near : far;
    client.renew();
    return client.fetch(input, init);
  };
}
