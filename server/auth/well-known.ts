/**
 * Discovery: what clients read before they know anything, at every place where one of them looks.
 *
 * Owns the documents and their places. They are public and the same for everybody, so a page of any origin may read them.
 */
import { DEVICE_GRANT } from '../../protocol/pairing.ts';
import { json } from '../http-answers.ts';
import { AGENT_SCOPES, MCP_PATHS, PATHS } from './places.ts';

const PROTECTED_RESOURCE = '/.well-known/oauth-protected-resource';
const SERVERS = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];

/** What the documents say of this relay. */
export interface Described {
  readonly issuer: string;
  /** Whether a client may be known by a document of its own. */
  readonly takesDocuments: boolean;
}

/** The document at this path; null when there is none. */
export function wellKnown(url: URL, origin: string, about: Described): object | null {
  const { pathname } = url;
  const at = placeIn(pathname, PROTECTED_RESOURCE);
  if (at !== null) return protectedResource(origin + at + secondAddress(url), about);
  if (SERVERS.some((prefix) => placeIn(pathname, prefix) !== null || isAppended(pathname, prefix))) {
    return authorizationServer(about);
  }
  return null;
}

/** Where the document about this resource is; named in challenges. */
export function resourceMetadataUrl(origin: string, resource: URL): string {
  return origin + PROTECTED_RESOURCE + resource.pathname + secondAddress(resource);
}

/** The address that asks for a token at once is a resource of its own to a client that compares letter by letter. */
function secondAddress({ searchParams }: URL): string {
  return searchParams.get('auth') === 'required' ? '?auth=required' : '';
}

/** The path of the resource behind a well-known prefix: inserted as RFC 9728 says, or nothing for the origin. */
function placeIn(pathname: string, prefix: string): string | null {
  if (!pathname.startsWith(prefix)) return null;
  const path = pathname.slice(prefix.length);
  if (path === '' || path === '/') return '';
  return MCP_PATHS.has(path) ? path : null;
}

/** Some clients append what should be inserted. */
function isAppended(pathname: string, prefix: string): boolean {
  return pathname.endsWith(prefix) && MCP_PATHS.has(pathname.slice(0, -prefix.length));
}

function protectedResource(resource: string, { issuer }: Described): object {
  return {
    resource,
    authorization_servers: [issuer],
    scopes_supported: AGENT_SCOPES,
    bearer_methods_supported: ['header'],
    resource_name: 'Graph Relay',
  };
}

function authorizationServer({ issuer, takesDocuments }: Described): object {
  return {
    issuer,
    authorization_endpoint: issuer + PATHS.authorize,
    token_endpoint: issuer + PATHS.token,
    registration_endpoint: issuer + PATHS.register,
    revocation_endpoint: issuer + PATHS.revoke,
    device_authorization_endpoint: issuer + PATHS.deviceCode,
    jwks_uri: issuer + PATHS.keys,
    scopes_supported: AGENT_SCOPES,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token', DEVICE_GRANT],
    code_challenge_methods_supported: ['S256'],
    // `none` and the last line together are what makes some clients use their metadata document.
    token_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    revocation_endpoint_auth_methods_supported: ['none', 'client_secret_basic', 'client_secret_post'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: takesDocuments,
    // Asked for by readers of OpenID's document; no identity is handed out.
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['EdDSA'],
  };
}

export const ANY_ORIGIN = { 'access-control-allow-origin': '*' } as const;

export function preflight(methods: string): Response {
  const headers = {
    ...ANY_ORIGIN,
    'access-control-allow-methods': methods,
    'access-control-allow-headers': '*, authorization, content-type, mcp-protocol-version, mcp-method, mcp-name',
    'access-control-max-age': '3600',
  };
  return new Response(null, { status: 204, headers });
}

export function publicDocument(document: object): Response {
  const response = json(200, document);
  for (const [name, value] of Object.entries(ANY_ORIGIN)) response.headers.set(name, value);
  // A changed public address must be seen soon.
  response.headers.set('cache-control', 'public, max-age=300');
  return response;
}
