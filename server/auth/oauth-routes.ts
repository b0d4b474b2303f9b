/**
 * The routes that clients call: authorize, token, register, revoke, device codes.
 *
 * Owns what stands between them and oidc-provider: how often, how much, in which form, and which headers come back.
 */
import { RETRY_AFTER_SECONDS } from '../../protocol/limits.ts';
import type { Clock, Log } from '../../protocol/ports.ts';
import { readBody } from '../body.ts';
import { json } from '../http-answers.ts';
import { callNodeHandler, type NodeHandler } from './node-bridge.ts';
import { authorizeParameters, formParameters } from './oauth-requests.ts';
import { browserHeaders } from './pages/layout.ts';
import { PATHS, type Places } from './places.ts';
import type { RateLimitName, RateLimits } from './rate-limits.ts';
import { normaliseMetadata, redirectProblem } from './registration.ts';
import { ANY_ORIGIN, preflight } from './well-known.ts';

/** Registrations with many addresses are the longest. */
const BODY_BYTES = 50_000;

/** Seconds between two questions of a desktop that waits for its owner. */
const DEVICE_INTERVAL_SECONDS = 5;
/** A question that comes so much early is no reason to complain. */
const DEVICE_SLACK_MS = 500;
const WAITING_DEVICES_MAX = 1_000;

export interface OAuthRoutesOptions {
  readonly handler: NodeHandler;
  readonly places: Places;
  readonly limits: RateLimits;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Log;
  /** Runs the provider with the address of who asks, for limits that it meets on its way. */
  readonly asking: <T>(address: string, run: () => Promise<T>) => Promise<T>;
}

const LIMIT_OF: Readonly<Record<string, RateLimitName>> = {
  [PATHS.token]: 'token',
  [PATHS.revoke]: 'token',
  [PATHS.register]: 'registration',
  [PATHS.deviceCode]: 'device-code',
};

export class OAuthRoutes {
  readonly #options: OAuthRoutesOptions;
  /** When a device code was last asked about; monotonic. */
  readonly #polls = new Map<string, number>();

  constructor(options: OAuthRoutesOptions) {
    this.#options = options;
  }

  async fetch(request: Request, address: string): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (request.method === 'OPTIONS') return preflight('GET, POST, OPTIONS');
    const isPage = pathname === PATHS.authorize || pathname.startsWith(`${PATHS.authorize}/`);
    const response = isPage ? await this.#page(request, address) : await this.#call(request, address);
    const headers = isPage
      ? browserHeaders(this.#options.places.isSecure)
      : { ...ANY_ORIGIN, 'access-control-expose-headers': 'WWW-Authenticate, Retry-After' };
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
    // What the provider sets for one origin is open to all: no cookie is looked at here.
    response.headers.delete('access-control-allow-credentials');
    return response;
  }

  async #page(request: Request, address: string): Promise<Response> {
    const { limits, places } = this.#options;
    const url = new URL(request.url);
    const waitSeconds = limits.take('authorize', address);
    if (waitSeconds !== null) return tooMany(waitSeconds);
    if (request.method !== 'GET') return refusal(405, 'invalid_request', 'Open this address in a browser.');
    const isResumed = url.pathname !== PATHS.authorize;
    const search = isResumed ? url.search : `?${authorizeParameters(url.searchParams, places)}`;
    return this.#provider(request, { address, path: url.pathname + search, body: new Uint8Array() });
  }

  async #call(request: Request, address: string): Promise<Response> {
    const { limits, places, log } = this.#options;
    const { pathname } = new URL(request.url);
    const limit = LIMIT_OF[pathname];
    const waitSeconds = limit === undefined ? null : limits.take(limit, address);
    if (waitSeconds !== null) {
      log.warn('oauth.limited', { path: pathname, address });
      return tooMany(waitSeconds);
    }
    const bytes = request.method === 'POST' ? await readBody(request, BODY_BYTES) : new Uint8Array();
    const text = new TextDecoder().decode(bytes);
    if (pathname === PATHS.register) return this.#register(request, { address, text });
    if (!isForm(request)) return this.#provider(request, { address, path: pathname, body: bytes });
    const form = formParameters(pathname, new URLSearchParams(text), places);
    const tooEarly = pathname === PATHS.token ? this.#tooEarly(form.get('device_code')) : null;
    if (tooEarly !== null) return tooEarly;
    const body = new TextEncoder().encode(String(form));
    const response = await this.#provider(request, { address, path: pathname, body });
    return pathname === PATHS.deviceCode ? withInterval(response) : response;
  }

  async #register(request: Request, { address, text }: { address: string; text: string }): Promise<Response> {
    let metadata: unknown;
    try {
      metadata = JSON.parse(text);
    } catch {
      metadata = null;
    }
    if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) {
      return refusal(400, 'invalid_client_metadata', 'Send the client as a JSON object.');
    }
    const problem = redirectProblem(metadata as Record<string, unknown>);
    if (problem !== null) return refusal(400, 'invalid_redirect_uri', problem);
    const normalised = normaliseMetadata(metadata as Record<string, unknown>);
    const body = new TextEncoder().encode(JSON.stringify(normalised));
    const response = await this.#provider(request, { address, path: PATHS.register, body });
    if (response.status === 201) {
      const { client_name, redirect_uris } = normalised;
      this.#options.log.info('oauth.registered', { client_name, redirect_uris, address });
    }
    return response;
  }

  /** RFC 8628: who asks more often than it was told is told so; oidc-provider does not count. */
  #tooEarly(deviceCode: string | null): Response | null {
    if (deviceCode === null) return null;
    const now = this.#options.clock.monotonic();
    const last = this.#polls.get(deviceCode);
    if (this.#polls.size >= WAITING_DEVICES_MAX) this.#polls.delete(this.#polls.keys().next().value as string);
    this.#polls.delete(deviceCode);
    this.#polls.set(deviceCode, now);
    const isEarly = last !== undefined && now - last < DEVICE_INTERVAL_SECONDS * 1_000 - DEVICE_SLACK_MS;
    return isEarly ? refusal(400, 'slow_down', `Ask each ${DEVICE_INTERVAL_SECONDS} seconds only.`) : null;
  }

  #provider(request: Request, { address, path, body }: { address: string; path: string; body: Uint8Array }) {
    const { asking, handler, places } = this.#options;
    const { method, headers } = request;
    const url = new URL(path, places.issuer);
    return asking(address, () => callNodeHandler(handler, { method, url, headers, body, address }));
  }
}

function isForm(request: Request): boolean {
  const type = request.headers.get('content-type') ?? '';
  return request.method === 'POST' && /^application\/x-www-form-urlencoded\b/i.test(type);
}

async function withInterval(response: Response): Promise<Response> {
  if (response.status !== 200) return response;
  const answer = (await response.json()) as object;
  return json(200, { ...answer, interval: DEVICE_INTERVAL_SECONDS });
}

function refusal(status: number, error: string, error_description: string): Response {
  return json(status, { error, error_description });
}

function tooMany(waitSeconds: number): Response {
  const response = refusal(429, 'slow_down', `Too many requests. Try again in ${waitSeconds} seconds.`);
  response.headers.set('retry-after', String(Math.max(waitSeconds, RETRY_AFTER_SECONDS)));
  return response;
}
