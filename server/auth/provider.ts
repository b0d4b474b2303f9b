/**
 * The settings of the authorization server. Each one that is not oidc-provider's default says why.
 *
 * Owns policy: what is issued to whom, for how long, and what ends it. Knows no page and no path but by name.
 */
import { generateKeyPairSync } from 'node:crypto';
import type { Configuration, default as ProviderClass } from 'oidc-provider';
import { DESKTOP_CLIENT, DESKTOP_NAME_PARAMETER, DESKTOP_SCOPE, DEVICE_GRANT } from '../../protocol/pairing.ts';
import type { ClientDocuments } from './client-documents.ts';
import type { OAuthStore } from './oauth-store.ts';
import { AGENT_RESOURCE, AGENT_SCOPES, DESKTOP_RESOURCE, PATHS } from './places.ts';

export type OidcModule = typeof import('oidc-provider');
export type Provider = ProviderClass;

/** The one account there is. */
export const OWNER_ACCOUNT = 'owner';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Names the request that this browser has open. */
export const CONSENT_COOKIE = 'graph_relay_consent';

/** In seconds. */
export const LIFETIMES = {
  /** Longer: a stolen one is of use for longer. Shorter: more refreshes, each of which writes to the disk. */
  AccessToken: HOUR,
  AuthorizationCode: MINUTE,
  /** Time to walk to a browser. */
  DeviceCode: 10 * MINUTE,
  /** Time to set up the owner in the middle of a first login. */
  Interaction: HOUR,
  /** A client that has not been used for so long has to be allowed again. */
  RefreshToken: 90 * DAY,
  /** As long as there are tokens: what has none is swept. */
  Grant: 3_650 * DAY,
  /** Only ties the two halves of one authorization together: the owner's login has a cookie of its own. */
  Session: HOUR,
} as const;

export interface ProviderOptions {
  readonly issuer: string;
  readonly isSecure: boolean;
  readonly oauth: OAuthStore;
  /** A grant is over: its client gave it back, or one of its codes or refresh tokens was used twice. */
  readonly grantEnded: (grantId: string) => void;
  /** Of clients that are known by a document of their own. Where none is taken, they register. */
  readonly documents: Pick<ClientDocuments, 'areTaken' | 'checkLimit' | 'fetch'>;
  readonly renderError: (refusal: Refusal) => { readonly html: string; readonly headers: Record<string, string> };
}

/** A request that cannot be answered by sending the browser back to its client. */
export interface Refusal {
  readonly reason: string;
  readonly error: unknown;
  /** As the request has it; anything. */
  readonly clientId: string;
}

export function createProvider(module: OidcModule, options: ProviderOptions): Provider {
  const provider = new module.Provider(options.issuer, configurationOf(module, options));
  provider.on('grant.revoked', (_ctx, grantId) => options.grantEnded(grantId));
  return provider;
}

function configurationOf(module: OidcModule, options: ProviderOptions): Configuration {
  const { oauth } = options;
  const usedTwice = (grantId: string | undefined) => {
    if (grantId !== undefined) options.grantEnded(grantId);
    return new module.errors.InvalidGrant('code already used');
  };
  const settings = {
    adapter: (model: string) => oauth.adapter(model, usedTwice),
    clients: [DESKTOP],
    routes: ROUTES,
    // No identity is handed out, so nothing is ever signed; but without a key, no client is taken. It lives in memory only.
    jwks: {
      keys: [{ ...generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }), alg: 'EdDSA', use: 'sig' }],
    },
    clientDefaults: { id_token_signed_response_alg: 'EdDSA' },
    scopes: ['offline_access'],
    responseTypes: ['code'],
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post'],
    pkce: { required: () => true },
    // Where a code goes is said each time, and compared.
    allowOmittingSingleRegisteredRedirectUri: false,
    // A token lives as long as its grant, not as long as somebody's browser stays logged in.
    expiresWithSession: () => false,
    issueRefreshToken: (_ctx: unknown, client: { grantTypeAllowed(type: string): boolean }) =>
      client.grantTypeAllowed('refresh_token'),
    // Always, so that a stolen one is noticed; a short reuse window is the storage's.
    rotateRefreshToken: () => true,
    // Clients in a browser call from their own origin, and what they send is no cookie.
    clientBasedCORS: () => true,
    // Each authorization gets a grant of its own: whoever asks anew is asked about anew.
    loadExistingGrant: (ctx: GrantContext) => existingGrant(ctx),
    findAccount: (_ctx: unknown, id: string) =>
      id === OWNER_ACCOUNT ? { accountId: id, claims: () => ({ sub: id }) } : undefined,
    interactions: { url: (_ctx: unknown, { uid }: { uid: string }) => `${PATHS.consent}/${uid}` },
    cookies: cookies(options),
    extraParams: [DESKTOP_NAME_PARAMETER],
    features: features(module, options),
    fetch: (url: string | URL, init: RequestInit = {}) => options.documents.fetch(String(url), init),
    renderError: (ctx: ErrorContext, out: { error: string; error_description?: string }, error: unknown) => {
      const clientId = String(ctx.oidc?.params?.client_id ?? ctx.query.client_id ?? '');
      const refusal = { reason: out.error_description ?? out.error, error, clientId };
      const { html, headers } = options.renderError(refusal);
      ctx.type = 'html';
      ctx.set(headers);
      ctx.body = html;
    },
    ttl: LIFETIMES,
  };
  return settings as unknown as Configuration;
}

const DESKTOP = {
  client_id: DESKTOP_CLIENT,
  client_name: 'Graph Relay desktop',
  application_type: 'native',
  token_endpoint_auth_method: 'none',
  grant_types: [DEVICE_GRANT, 'refresh_token'],
  redirect_uris: [],
  response_types: [],
};

const ROUTES = {
  authorization: PATHS.authorize,
  token: PATHS.token,
  registration: PATHS.register,
  revocation: PATHS.revoke,
  device_authorization: PATHS.deviceCode,
  code_verification: PATHS.pair,
  jwks: PATHS.keys,
};

/** Theirs tie a browser to one request. Values that cannot be guessed need no signature. */
function cookies({ isSecure }: ProviderOptions) {
  const cookie = { httpOnly: true, sameSite: 'lax', secure: isSecure, signed: false } as const;
  const names = {
    session: 'graph_relay_authorization',
    interaction: CONSENT_COOKIE,
    resume: 'graph_relay_consent_resume',
  };
  return { names, long: cookie, short: cookie };
}

function features(module: OidcModule, { documents }: ProviderOptions) {
  const off = { enabled: false };
  return {
    devInteractions: off,
    userinfo: off,
    pushedAuthorizationRequests: off,
    dPoP: off,
    rpInitiatedLogout: off,
    deviceFlow: { enabled: true },
    revocation: {
      enabled: true,
      // A client may give back its own tokens only.
      allowedPolicy: (_ctx: unknown, client: { clientId: string }, token: { clientId: string }) =>
        token.clientId === client.clientId,
    },
    registration: { enabled: true, issueRegistrationAccessToken: false },
    rpMetadataChoices: { enabled: true },
    clientIdMetadataDocument: {
      enabled: documents.areTaken,
      ack: 'draft-02',
      async allowFetch(_ctx: unknown, url: string) {
        try {
          documents.checkLimit(url);
          return true;
        } catch (cause) {
          // A plain "no" would lose the reason.
          throw new module.errors.InvalidClient('documents were asked for too often', { cause } as never);
        }
      },
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_ctx: unknown, client: { clientId: string }) => resourceFor(client),
      useGrantedResource: () => true,
      getResourceServerInfo(_ctx: unknown, resource: string, client: { clientId: string }) {
        // A desktop's token is good for nothing but the desktop's calls, and nobody else gets one.
        if (resource !== resourceFor(client)) throw new module.errors.InvalidTarget();
        const scope = resource === DESKTOP_RESOURCE ? DESKTOP_SCOPE : AGENT_SCOPES.join(' ');
        return { scope, audience: resource, accessTokenFormat: 'opaque', accessTokenTTL: LIFETIMES.AccessToken };
      },
    },
  };
}

function resourceFor({ clientId }: { clientId: string }): string {
  return clientId === DESKTOP_CLIENT ? DESKTOP_RESOURCE : AGENT_RESOURCE;
}

interface ErrorContext {
  type: string;
  body: unknown;
  readonly query: { readonly client_id?: unknown };
  readonly oidc?: { readonly params?: { readonly client_id?: unknown } };
  set(headers: Record<string, string>): void;
}

interface GrantContext {
  readonly oidc: {
    readonly result?: { readonly consent?: { readonly grantId?: string } };
    readonly provider: { readonly Grant: { find(id: string): Promise<unknown> } };
  };
}

async function existingGrant({ oidc }: GrantContext): Promise<unknown> {
  const grantId = oidc.result?.consent?.grantId;
  return grantId === undefined ? undefined : oidc.provider.Grant.find(grantId);
}
