/**
 * Authorization as one part of the relay: who was let in, and the routes by which somebody is.
 *
 * Owns how its parts are put together and which path is whose. Principals are known from the first moment, so no desktop is
 * refused while a relay starts; the routes open when the public address is known.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { EventEmitter } from 'node:events';
import { asRelayError, ERRORS, RelayError, withoutDisk } from '../../protocol/errors.ts';
import type { Ports, StateStore } from '../../protocol/ports.ts';
import type { DesktopPrincipal } from '../access.ts';
import type { AgentPrincipal } from '../agent-api.ts';
import { json } from '../http-answers.ts';
import type { RelayTables } from '../rows.ts';
import { clientAddress } from './client-address.ts';
import { type Asking, ClientDocuments, refusedDocumentIn } from './client-documents.ts';
import { Connections } from './connections.ts';
import { OAuthRoutes } from './oauth-routes.ts';
import { OAuthStore } from './oauth-store.ts';
import { Once } from './once.ts';
import { Owner } from './owner.ts';
import { consentPage } from './pages/consent-page.ts';
import { documentPage, refusedPage } from './pages/error-page.ts';
import { html } from './pages/html.ts';
import { browserHeaders, type PageOptions, page, pageText } from './pages/layout.ts';
import { loginPage, logoutPage, overviewPage, type PageParts, type Shown, setupPage } from './pages/owner-pages.ts';
import { pairPage } from './pages/pair-page.ts';
import { Visit } from './pages/visit.ts';
import { createPlaces, PATHS, type Places } from './places.ts';
import { createProvider, type OidcModule, type Provider, type Refusal } from './provider.ts';
import { RATE_LIMITS, RateLimits } from './rate-limits.ts';
import { Sweeper } from './sweeper.ts';
import { ANY_ORIGIN, preflight, publicDocument, resourceMetadataUrl, wellKnown } from './well-known.ts';

export interface AuthorizationOptions {
  readonly ports: Ports;
  readonly store: StateStore<RelayTables>;
  /** Fetches a client's own description. Has to refuse addresses of this machine and its network. Null: clients register. */
  readonly fetchDocument: ((url: string, init: RequestInit) => Promise<Response>) | null;
  /** Smaller in tests only. */
  readonly scryptCost?: number;
}

/** Who sent a request, as far as the socket tells. */
export interface Peer {
  readonly address: string;
}

export class Authorization {
  readonly owner: Owner;
  readonly connections: Connections;
  readonly #options: AuthorizationOptions;
  readonly #oauth: OAuthStore;
  readonly #limits: RateLimits;
  readonly #documents: ClientDocuments;
  readonly #sweeper: Sweeper;
  readonly #once = new Once<Shown>();
  readonly #asking = new AsyncLocalStorage<Asking>();
  #open: { places: Places; provider: Provider; routes: OAuthRoutes } | null = null;

  constructor(options: AuthorizationOptions) {
    const { ports, store } = options;
    this.#options = options;
    this.#oauth = new OAuthStore({ store, clock: ports.clock });
    this.owner = new Owner(options);
    this.connections = new Connections({ store, ports, oauth: this.#oauth });
    this.#limits = new RateLimits(ports.clock, RATE_LIMITS);
    this.#documents = new ClientDocuments({
      fetchDocument: options.fetchDocument,
      limits: this.#limits,
      asking: () => this.#asking.getStore() ?? { address: '', refused: null },
      log: ports.log,
    });
    this.#sweeper = new Sweeper({
      clock: ports.clock,
      log: ports.log,
      oauth: this.#oauth,
      connections: this.connections,
    });
  }

  agentOf = (bearer: string): AgentPrincipal | null => this.connections.agentOf(bearer);
  desktopOf = (bearer: string): DesktopPrincipal | null => this.connections.desktopOf(bearer);

  /** Opens the routes under this address: scheme, host and port. */
  async open(publicUrl: string, module?: OidcModule): Promise<void> {
    const places = createPlaces(publicUrl);
    const provider = createProvider(module ?? (await import('oidc-provider')), {
      issuer: places.issuer,
      isSecure: places.isSecure,
      oauth: this.#oauth,
      grantEnded: (grantId) => this.#grantEnded(grantId),
      documents: this.#documents,
      renderError: (refused) => ({
        html: pageText(this.#refusalPage(refused)),
        headers: browserHeaders(places.isSecure),
      }),
    });
    const { log, clock } = this.#options.ports;
    provider.on('server_error', (_ctx, error) => log.error('oauth.fault', { err: error }));
    // Koa's own, which would go to standard error otherwise.
    (provider as EventEmitter).on('error', (error: unknown) => log.error('oauth.fault', { err: error }));
    const handler = provider.callback();
    const limits = this.#limits;
    const asking = <T>(address: string, run: () => Promise<T>) => this.#asking.run({ address, refused: null }, run);
    log.info('authorization.open', { issuer: places.issuer });
    this.#open = { places, provider, routes: new OAuthRoutes({ handler, places, limits, clock, log, asking }) };
  }

  /** A new one-time link to the page that makes the owner, or a new password for one that is there. */
  setupLink(): string {
    const { places } = this.#opened();
    this.#options.ports.log.info('owner.link-made');
    return `${places.issuer}${PATHS.setup}?token=${this.owner.newSetupToken()}`;
  }

  /** Where a client that came without a good token reads how to get one; null while the routes are closed. */
  resourceMetadataOf(request: Request): string | null {
    if (this.#open === null) return null;
    const url = new URL(request.url);
    return resourceMetadataUrl(this.#open.places.originFor(hostOf(request, url)), url);
  }

  /** The answer to a request for one of the paths here; null for any other path. */
  fetch(request: Request, socketPeer: Peer): Promise<Response> | null {
    const { pathname } = new URL(request.url);
    const isProxied = this.#open?.places.isProxied ?? false;
    const peer = { address: clientAddress(request, socketPeer.address, isProxied) };
    if (pathname.includes('/.well-known/')) return this.#discovery(request, pathname);
    if (pathname.startsWith(`${PATHS.consent}/`)) return this.#page(request, peer);
    if (pathname.startsWith('/oauth/')) return this.#oauthRoute(request, peer);
    if (pathname === PATHS.pair || pathname === PATHS.owner) return this.#page(request, peer);
    return pathname.startsWith(`${PATHS.owner}/`) ? this.#page(request, peer) : null;
  }

  /** Removes what has expired; also done by itself from time to time. */
  sweep(): Promise<void> {
    return this.#sweeper.sweep();
  }

  stop(): void {
    this.#sweeper.stop();
  }

  #refusalPage({ error, reason, clientId }: Refusal): PageOptions {
    const refused = refusedDocumentIn(error);
    if (refused !== null) return documentPage(refused);
    const isAddress = URL.parse(clientId)?.protocol === 'https:';
    const isNotFetched = isAddress && !this.#documents.areTaken;
    return isNotFetched ? documentPage({ fault: 'not-fetched-here', url: clientId }) : refusedPage(reason);
  }

  #grantEnded(grantId: string): void {
    this.connections.grantEnded(grantId, 'its grant was revoked').catch((error: unknown) => {
      this.#options.ports.log.error('connection.removal-failed', { err: error });
    });
  }

  #opened() {
    if (this.#open !== null) return this.#open;
    throw new RelayError('shutting-down', 'The relay is starting: its address is not known yet. Try again.');
  }

  async #discovery(request: Request, pathname: string): Promise<Response> {
    const { places } = this.#opened();
    if (request.method === 'OPTIONS') return preflight('GET, OPTIONS');
    const url = new URL(request.url);
    const about = { issuer: places.issuer, takesDocuments: this.#documents.areTaken };
    const document = wellKnown(url, places.originFor(hostOf(request, url)), about);
    if (document !== null) return publicDocument(document);
    const response = json(404, { error: { code: 'not-found', message: `There is nothing at ${pathname}.` } });
    for (const [name, value] of Object.entries(ANY_ORIGIN)) response.headers.set(name, value);
    return response;
  }

  async #oauthRoute(request: Request, { address }: Peer): Promise<Response> {
    const { places, routes } = this.#opened();
    const { pathname } = new URL(request.url);
    if (pathname.startsWith(PATHS.authorize)) {
      const foreign = foreignHost(request, places);
      if (foreign !== null) return foreign;
    }
    return routes.fetch(request, address);
  }

  async #page(request: Request, { address }: Peer): Promise<Response> {
    const { places } = this.#opened();
    const foreign = foreignHost(request, places);
    if (foreign !== null) return foreign;
    try {
      const visit = await Visit.of(request, address, { places, owner: this.owner, ids: this.#options.ports.ids });
      const shown = await this.#asking.run({ address, refused: null }, () => this.#show(visit, request.method));
      if (shown instanceof Response) return shown;
      return page({ ...shown, headers: { ...visit.headers, ...shown.headers } }, places.isSecure);
    } catch (error) {
      const refused = refusedDocumentIn(error);
      if (refused !== null) return page(documentPage(refused), places.isSecure);
      const { code, message } = withoutDisk(asRelayError(error));
      if (code === 'forbidden') this.#options.ports.log.warn('owner.form-refused', { address });
      if (code === 'internal') this.#options.ports.log.error('owner.page-failed', { err: error });
      const body = html`<p>${message}</p>`;
      return page({ title: 'This did not work', status: ERRORS[code].http, body }, places.isSecure);
    }
  }

  async #show(visit: Visit, method: string): Promise<Shown> {
    const { provider } = this.#opened();
    const { owner, connections } = this;
    const { ports, store } = this.#options;
    const parts: PageParts = { owner, connections, limits: this.#limits, once: this.#once, ports };
    const { pathname } = visit.url;
    if (method !== 'GET' && method !== 'POST') return { title: 'There is no such page', status: 405, body: html`` };
    if (pathname === PATHS.setup) return setupPage(visit, parts);
    if (pathname === PATHS.login) return loginPage(visit, parts);
    if (pathname === PATHS.logout) return logoutPage(visit, parts);
    if (pathname === PATHS.owner) return overviewPage(visit, parts);
    if (pathname === PATHS.pair) return pairPage(visit, { ...parts, provider, oauth: this.#oauth });
    if (pathname.startsWith(`${PATHS.consent}/`)) {
      return consentPage(visit, { ...parts, provider, projects: () => store.rows('project') });
    }
    return noPage();
  }
}

function noPage(): PageOptions {
  const body = html`<p><a href="${PATHS.owner}">What is connected</a></p>`;
  return { title: 'There is no such page', status: 404, body };
}

/** The host that the client named. A `Request` repeats it in its address when it was made without a server. */
function hostOf(request: Request, url: URL): string {
  return request.headers.get('host') ?? url.host;
}

/** A name that leads here without being ours: a page of somebody else's would share our cookies' machine, so it gets none. */
function foreignHost(request: Request, places: Places): Response | null {
  if (places.mayShowPages(hostOf(request, new URL(request.url)))) return null;
  const body = html`<p>This relay is at <a href="${places.issuer}">${places.issuer}</a>. Under another name it shows no pages. If you are there, its proxy has to pass the header Host on.</p>`;
  return page({ title: 'Another address', status: 421, body }, places.isSecure);
}
