/**
 * Where things are: paths, addresses, scopes, and which addresses name the same resource.
 *
 * Owns what "this relay" means to a client. Every address under which a client may have connected names one audience;
 * inside, the resources have names of their own, so that grants survive a change of the public address.
 */
import { DEVICE_CODE_PATH, REVOKE_PATH, TOKEN_PATH } from '../../protocol/pairing.ts';
import type { AgentScope } from '../agent-api.ts';

export const PATHS = {
  authorize: '/oauth/authorize',
  token: TOKEN_PATH,
  register: '/oauth/register',
  revoke: REVOKE_PATH,
  deviceCode: DEVICE_CODE_PATH,
  keys: '/oauth/jwks',
  consent: '/oauth/consent',
  pair: '/device',
  owner: '/owner',
  login: '/owner/login',
  setup: '/owner/setup',
  logout: '/owner/logout',
} as const;

/** Where connected agents call. A client is told as its resource the very one that it asked about. */
export const MCP_PATHS: ReadonlySet<string> = new Set([
  '/mcp',
  '/mcp/',
  '/api/v1/external-mcp',
  '/api/v1/external-mcp/',
]);

export const AGENT_SCOPES: readonly AgentScope[] = ['osfoundry:read', 'osfoundry:run'];

/** The two audiences, by the names that grants and tokens keep. */
export const AGENT_RESOURCE = 'urn:graph-relay:mcp';
export const DESKTOP_RESOURCE = 'urn:graph-relay:desktop';

const LOOPBACK_HOSTS = ['127.0.0.1', 'localhost', '[::1]'];

export interface Places {
  /** Scheme, host and port under which the relay is known; what tokens are issued by. */
  readonly issuer: string;
  readonly isSecure: boolean;
  /** Known under another address than this machine's own, so that requests come through a proxy. */
  readonly isProxied: boolean;
  /**
   * Whether a browser that sent this Host may be shown pages: a foreign name that leads here is an attack. Some proxies
   * name the relay as they reach it themselves.
   */
  mayShowPages(host: string): boolean;
  /** Whether a form that came from this origin came from here. */
  isOurOrigin(origin: string): boolean;
  /** The origin that the caller used when it is one of ours, otherwise the issuer. */
  originFor(host: string): string;
  /** The audience that a resource indicator names; the indicator itself when it names none of ours. */
  resourceOf(indicator: string): string;
}

export function createPlaces(publicUrl: string): Places {
  const url = new URL(publicUrl);
  const hosts = new Set([url.host]);
  // On one machine, people and programs use these names without thinking.
  if (LOOPBACK_HOSTS.includes(url.hostname)) {
    for (const name of LOOPBACK_HOSTS) hosts.add(url.port === '' ? name : `${name}:${url.port}`);
  }
  const isOurHost = (host: string) => hosts.has(host.toLowerCase());
  const isBehindProxy = isProxied(url.origin);
  return {
    issuer: url.origin,
    isSecure: url.protocol === 'https:',
    isProxied: isBehindProxy,
    mayShowPages: (host) => isOurHost(host) || (isBehindProxy && isLoopbackHost(host)),
    isOurOrigin(origin) {
      const named = URL.parse(origin);
      return named !== null && named.protocol === url.protocol && isOurHost(named.host);
    },
    originFor: (host) => (isOurHost(host) ? `${url.protocol}//${host.toLowerCase()}` : url.origin),
    resourceOf(indicator) {
      const named = URL.parse(indicator);
      const isOurs = named !== null && named.protocol === url.protocol && isOurHost(named.host) && named.hash === '';
      const isKnown = named?.pathname === '/' || MCP_PATHS.has(named?.pathname ?? '');
      return isOurs && isKnown && named.username === '' ? AGENT_RESOURCE : indicator;
    },
  };
}

/** Whether a relay that is known under this origin has a proxy in front: it is not one of this machine's own names. */
export function isProxied(origin: string): boolean {
  return !LOOPBACK_HOSTS.includes(new URL(origin).hostname);
}

/** Whether a Host header names this machine by one of its own names, with or without a port. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_HOSTS.includes(host.toLowerCase().replace(/:\d+$/, ''));
}

/** The address under which the relay is known, or what is wrong with it. */
export function checkPublicUrl(text: string): { readonly origin: string } | { readonly problem: string } {
  const url = URL.parse(text);
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  if (url === null || !isWeb) return { problem: 'it is no address that begins with https:// or http://' };
  const isBare = url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '';
  if (!isBare) return { problem: 'it may have a host and a port only: the relay needs the whole of its host' };
  if (url.protocol === 'http:' && !LOOPBACK_HOSTS.includes(url.hostname)) {
    return { problem: 'passwords and tokens would be readable on the way: it has to begin with https://' };
  }
  return { origin: url.origin };
}
