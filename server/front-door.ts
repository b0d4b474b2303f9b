/**
 * What every request passes before the routes, and every answer after them: under which name the relay is asked, on whose
 * behalf a browser asks, and the headers that keep an answer from being taken for something else.
 *
 * A name that leads here without being ours is how a website reaches programs on its visitor's own machine (DNS
 * rebinding). Must not know who may come in, nor what a route does.
 */
import { TRPC_PATH } from '../protocol/api.ts';
import { ERRORS, RelayError } from '../protocol/errors.ts';
import { PLAIN_PATH } from '../protocol/plain-contract.ts';
import type { Log } from '../protocol/ports.ts';
import { clientAddress } from './auth/client-address.ts';
import { isLoopbackHost, isProxied, MCP_PATHS, PATHS } from './auth/places.ts';
import { ANY_ORIGIN } from './auth/well-known.ts';
import { json } from './http-answers.ts';

export interface Standing {
  /** Where the relay listens. */
  readonly url: string;
  /** What it is called from outside, where that is not where it listens. */
  readonly publicOrigin: string | null;
}

type Handler<Peer> = (request: Request, peer?: Peer) => Promise<Response>;

/** A request of node:http, as far as it is looked at. */
interface HeadersOf {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly url?: string | undefined;
}

const WRONG_NAME =
  'This relay does not answer under the name that it was asked by. Use its own address. If this is its address, start it with --public-url, and let its proxy pass the header Host on.';
const FOREIGN_PAGE =
  'A page of another site asked this. Desktops send no Origin, and pages of other sites have no business here.';

export class FrontDoor {
  readonly #log: Log;
  #standing: Standing | null = null;

  constructor(log: Log) {
    this.#log = log;
  }

  /** From now on strangers' names and pages are refused. Nobody can come before: nothing listens yet. */
  open(standing: Standing): void {
    this.#standing = standing;
  }

  /** Who is at the other end, for limits that count by address. */
  addressOf(headers: Headers, socketAddress: string): string {
    const origin = this.#standing?.publicOrigin ?? null;
    return clientAddress({ headers }, socketAddress, origin !== null && isProxied(origin));
  }

  guard<Peer>(handler: Handler<Peer>): Handler<Peer> {
    return async (request, peer) => this.#sealed(this.#refusal(request) ?? (await handler(request, peer)));
  }

  /** Why a WebSocket is not granted to who asks under this name, or to this page; null when nothing is against it. */
  refusalOfUpgrade({ headers, url = '' }: HeadersOf): RelayError | null {
    const host = String(headers.host ?? '');
    const origin = headers.origin === undefined ? null : String(headers.origin);
    const isOurs = this.#isOurName(host);
    if (isOurs && this.#isOurOrigin(origin, host)) return null;
    this.#log.warn('door.refused', { status: ERRORS.forbidden.http, path: url.slice(0, 100) });
    return new RelayError('forbidden', isOurs ? FOREIGN_PAGE : WRONG_NAME);
  }

  #refusal(request: Request): Response | null {
    if (this.#standing === null) return null;
    const url = new URL(request.url);
    // The header is what the client named. A `Request` that was made without a server has it in its address only.
    const host = request.headers.get('host') ?? url.host;
    const { pathname } = url;
    if (isPage(pathname)) return this.#refusalOfPage(request, pathname);
    if (!isForProbes(pathname) && !this.#isOurName(host)) return this.#refused(421, WRONG_NAME, pathname);
    const isForDesktops = pathname.startsWith(`${TRPC_PATH}/`) || pathname.startsWith(`${PLAIN_PATH}/`);
    if (isForDesktops && !this.#isOurOrigin(request.headers.get('origin'), host)) {
      return this.#refused(403, FOREIGN_PAGE, pathname);
    }
    return null;
  }

  /** Pages say themselves that a name is not theirs. Other sites may lead to them, and not load them into their own. */
  #refusalOfPage({ headers }: Request, pathname: string): Response | null {
    const site = headers.get('sec-fetch-site') ?? 'none';
    if (pathname === PATHS.authorize || site === 'none' || site === 'same-origin') return null;
    const isOpened = headers.get('sec-fetch-mode') === 'navigate' && headers.get('sec-fetch-dest') === 'document';
    return isOpened ? null : this.#refused(403, FOREIGN_PAGE, pathname);
  }

  #isOurName(host: string): boolean {
    if (this.#standing === null || isLoopbackHost(host)) return true;
    const { url, publicOrigin } = this.#standing;
    const name = URL.parse(`http://${host}`)?.hostname;
    if (publicOrigin !== null) return name === new URL(publicOrigin).hostname;
    // Opened to a network without a name of its own: there it may be called whatever that network calls it.
    return !isLoopbackHost(new URL(url).host);
  }

  #isOurOrigin(origin: string | null, host: string): boolean {
    if (origin === null || this.#standing === null) return true;
    return origin === this.#standing.publicOrigin || URL.parse(origin)?.host === host.toLowerCase();
  }

  #refused(status: number, message: string, path: string): Response {
    this.#log.warn('door.refused', { status, path: path.slice(0, 100) });
    const error = { code: -32_000, message, data: { relayCode: 'forbidden', httpStatus: status } };
    const response = json(status, { jsonrpc: '2.0', id: null, error });
    if (MCP_PATHS.has(path)) response.headers.set('access-control-allow-origin', '*');
    return response;
  }

  #sealed(response: Response): Response {
    const { headers } = response;
    const isOpen = headers.get('access-control-allow-origin') === ANY_ORIGIN['access-control-allow-origin'];
    const isSecure = this.#standing?.publicOrigin?.startsWith('https:') === true;
    const wanted = {
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'cross-origin-resource-policy': isOpen ? 'cross-origin' : 'same-origin',
      ...(isSecure && { 'strict-transport-security': 'max-age=31536000' }),
    };
    for (const [name, value] of Object.entries(wanted)) if (!headers.has(name)) headers.set(name, value);
    return response;
  }
}

function isPage(pathname: string): boolean {
  const { owner, pair, consent, authorize } = PATHS;
  if (pathname === owner || pathname === pair || pathname === authorize) return true;
  return [owner, consent, authorize].some((path) => pathname.startsWith(`${path}/`));
}

/** Who looks whether a relay lives calls it by its number, and learns no more than that. */
function isForProbes(pathname: string): boolean {
  return pathname === '/healthz' || pathname === '/readyz';
}
