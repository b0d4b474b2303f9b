/**
 * `fetch` for the calls of the desktop, to the relay and to models, with a hand on its pool of connections.
 *
 * Owns the pool. A connection that died without a word is found only by the call that it swallows, and the runtime's own
 * `fetch` has no way to say "none of them can be trusted any more" after a sleep, or after one of them was silent.
 * Bodies are text and answers are short, so both are whole: nothing is streamed.
 */
import { type AgentOptions, type ClientRequest, Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Clock } from '../../protocol/ports.ts';
import { type ProxyEnvironment, proxyVariables } from './proxy-settings.ts';

/**
 * An unused connection is closed after this long. Shorter than the relay's keep-alive, which must not close one just
 * taken, and than the 60 s after which many a balancer forgets one without a word. Longer: a call is sent into nothing,
 * and waits for its deadline. Shorter: more connections are made.
 */
const POOL_IDLE_MS = 50_000;

/** A reset that comes later than this has met a request that the other side was working on. */
const STALE_MS = 1_000;

export interface HttpClient {
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  /** Closes the connections that no call uses: the next one gets a new connection. */
  readonly renew: () => void;
}

export interface HttpClientOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Names the proxy for an address. */
  readonly environment: ProxyEnvironment;
  /** An answer with a longer body is an error. Default: any length; the relay is trusted to be short. */
  readonly maxAnswerBytes?: number;
}

/** Headers of an answer that somebody looks at. */
const HEADERS_KEPT = ['content-type', 'retry-after', 'retry-after-ms'];

export function createHttpClient(options: HttpClientOptions): HttpClient {
  const { clock, environment, maxAnswerBytes = Number.POSITIVE_INFINITY } = options;
  const pool: AgentOptions = { keepAlive: true, timeout: POOL_IDLE_MS, proxyEnv: proxyVariables(environment) };
  const agents = { http: new HttpAgent(pool), https: new HttpsAgent(pool) };

  function renew(): void {
    for (const agent of Object.values(agents)) {
      for (const socket of Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? [])) socket.destroy();
    }
  }

  function start(url: URL, init: RequestInit): ClientRequest {
    const isSecure = url.protocol === 'https:';
    const request = isSecure ? httpsRequest : httpRequest;
    const headers = Object.fromEntries(new Headers(init.headers));
    const agent = isSecure ? agents.https : agents.http;
    return request(url, { method: init.method ?? 'GET', headers, agent });
  }

  async function fetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    const url = new URL(input instanceof Request ? input.url : input);
    const startedAt = clock.monotonic();
    const first = start(url, init);
    try {
      return await answerTo(first, init, maxAnswerBytes);
    } catch (error) {
      const isStale = first.reusedSocket && isReset(error) && clock.monotonic() - startedAt < STALE_MS;
      if (!isStale) throw error;
      // The other side had closed the pooled connection meanwhile. Every call to the relay may be made twice.
      renew();
      return answerTo(start(url, init), init, maxAnswerBytes);
    }
  }

  return { fetch, renew };
}

function answerTo(request: ClientRequest, { body, signal }: RequestInit, maxBytes: number): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const aborted = () => request.destroy(new DOMException('The call was taken back.', 'AbortError'));
  if (signal?.aborted) aborted();
  signal?.addEventListener('abort', aborted, { once: true });
  request.once('error', reject);
  request.once('response', (answer) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    answer.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes <= maxBytes) return;
      reject(new RangeError(`the answer is longer than ${maxBytes} bytes`));
      request.destroy();
    });
    answer.once('error', reject);
    answer.once('end', () => {
      const status = answer.statusCode ?? 0;
      const headers = HEADERS_KEPT.flatMap((name): [string, string][] => {
        const value = answer.headers[name];
        return typeof value === 'string' ? [[name, value]] : [];
      });
      resolve(new Response(hasBody(status) ? Buffer.concat(chunks) : null, { status, headers }));
    });
  });
  request.end(typeof body === 'string' ? body : undefined);
  return promise.finally(() => signal?.removeEventListener('abort', aborted));
}

function hasBody(status: number): boolean {
  return status !== 204 && status !== 205 && status !== 304;
}

function isReset(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ECONNRESET' || code === 'EPIPE';
}
