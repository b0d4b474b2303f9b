/**
 * Lets a handler written for node:http answer a web-standard request.
 *
 * oidc-provider is such a handler, and the relay is a fetch handler: so it serves the simulation, tests without sockets,
 * Deno and node:http alike. Owns the two stand-ins, which have what Koa and oidc-provider look at. The request that they
 * see is made here from nothing: no header that a proxy or a client could forge decides which host or scheme they believe.
 */
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable, Writable } from 'node:stream';

export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => unknown;

export interface BridgedRequest {
  readonly method: string;
  /** The address as the public knows it. */
  readonly url: URL;
  readonly headers: Headers;
  readonly body: Uint8Array;
  readonly address: string;
}

/** What would tell the handler where it is, and what describes the body as it was on the way. */
const LEFT_OUT = /^(host|forwarded|x-forwarded-.*|x-real-ip|content-length|transfer-encoding|content-encoding|expect)$/;

export async function callNodeHandler(handler: NodeHandler, bridged: BridgedRequest): Promise<Response> {
  const request = new StandInRequest(bridged);
  const response = new StandInResponse(request);
  const handled = Promise.resolve(handler(request as never, response as never));
  // Whichever comes first: an answer, or a handler that failed without one.
  await Promise.race([response.ended, handled.then(() => response.ended)]);
  return response.toResponse();
}

class StandInSocket extends EventEmitter {
  readonly readable = true;
  readonly writable = true;
  readonly encrypted: boolean;
  readonly remoteAddress: string;

  constructor({ url, address }: BridgedRequest) {
    super();
    this.encrypted = url.protocol === 'https:';
    this.remoteAddress = address;
  }

  destroy(): void {}
}

class StandInRequest extends Readable {
  readonly method: string;
  readonly url: string;
  readonly httpVersion = '1.1';
  readonly headers: Record<string, string>;
  readonly socket: StandInSocket;
  readonly complete = true;

  constructor(bridged: BridgedRequest) {
    super({ read() {} });
    const { method, url, headers, body } = bridged;
    this.method = method;
    this.url = url.pathname + url.search;
    this.socket = new StandInSocket(bridged);
    this.headers = { host: url.host };
    for (const [name, value] of headers) if (!LEFT_OUT.test(name)) this.headers[name] = value;
    if (method !== 'GET' && method !== 'HEAD') this.headers['content-length'] = String(body.byteLength);
    if (body.byteLength > 0) this.push(body);
    this.push(null);
  }
}

type HeaderValue = string | number | readonly string[];

class StandInResponse extends Writable {
  statusCode = 200;
  statusMessage = '';
  headersSent = false;
  readonly req: StandInRequest;
  readonly socket: StandInSocket;
  readonly ended: Promise<void>;
  readonly #headers = new Map<string, HeaderValue>();
  readonly #chunks: Uint8Array[] = [];

  constructor(request: StandInRequest) {
    super();
    this.req = request;
    this.socket = request.socket;
    this.ended = new Promise((done, failed) => {
      this.once('finish', done);
      this.once('error', failed);
    });
  }

  override _write(chunk: Uint8Array, _encoding: string, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }

  setHeader(name: string, value: HeaderValue): this {
    this.#headers.set(name.toLowerCase(), value);
    return this;
  }

  getHeader(name: string): HeaderValue | undefined {
    return this.#headers.get(name.toLowerCase());
  }

  getHeaders(): Record<string, HeaderValue> {
    return Object.fromEntries(this.#headers);
  }

  getHeaderNames(): string[] {
    return [...this.#headers.keys()];
  }

  hasHeader(name: string): boolean {
    return this.#headers.has(name.toLowerCase());
  }

  removeHeader(name: string): void {
    this.#headers.delete(name.toLowerCase());
  }

  flushHeaders(): void {}

  toResponse(): Response {
    const headers = new Headers();
    for (const [name, value] of this.#headers) {
      if (name === 'content-length') continue;
      for (const each of Array.isArray(value) ? value : [value]) headers.append(name, String(each));
    }
    const hasBody = this.req.method !== 'HEAD' && ![204, 205, 304].includes(this.statusCode);
    const body = hasBody ? Buffer.concat(this.#chunks) : null;
    return new Response(body, { status: this.statusCode, headers });
  }
}
