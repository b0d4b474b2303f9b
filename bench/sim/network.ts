/**
 * A network without sockets: `fetch` that calls a handler after a delay and brings the answer back after another.
 *
 * An abort reaches the other side one way's delay later, as it does on a wire.
 */
import { pause } from '../../protocol/waiting.ts';
import type { VirtualClock } from './virtual-clock.ts';

export type FetchHandler = (request: Request) => Promise<Response>;
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

export interface Network {
  /** Milliseconds that the next message takes. */
  readonly delayMs: () => number;
  /** Null: the message gets through. Otherwise the caller sees this failure. */
  readonly lose?: (leg: 'request' | 'answer') => Error | null;
}

export function simulatedFetch(clock: VirtualClock, network: Network, handler: FetchHandler): Fetch {
  const never = new AbortController().signal;

  async function leg(name: 'request' | 'answer', path: string): Promise<void> {
    const lost = network.lose?.(name) ?? null;
    await pause(clock, network.delayMs(), never);
    clock.trace(`${lost ? 'lost ' : ''}${name} ${path}`);
    if (lost) throw lost;
  }

  return (input, init = {}) => {
    const callerSignal = init.signal ?? never;
    const serverSide = new AbortController();
    const request = new Request(input, { ...init, signal: serverSide.signal });
    const path = new URL(request.url).pathname;

    async function exchange(): Promise<Response> {
      await leg('request', path);
      const response = await handler(request);
      await leg('answer', path);
      return response;
    }

    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const onAbort = () => {
      reject(new DOMException('The operation was aborted.', 'AbortError'));
      clock.after(network.delayMs(), () => serverSide.abort());
    };
    if (callerSignal.aborted) onAbort();
    else callerSignal.addEventListener('abort', onAbort, { once: true });
    exchange()
      .then(resolve, reject)
      .finally(() => callerSignal.removeEventListener('abort', onAbort));
    return promise;
  };
}
