/**
 * Which proxy the environment names for an address: HTTP_PROXY, HTTPS_PROXY and NO_PROXY, in either case.
 *
 * Owns the reading of the variables only. Node reads the same ones for `fetch`; a WebSocket and the doctor need to know
 * the outcome.
 */

export type ProxyEnvironment = Readonly<Record<string, string | undefined>>;

/** The proxy for this address, or null for the direct way. WebSocket addresses go by their HTTP siblings' rules. */
export function proxyFor(address: string, environment: ProxyEnvironment): URL | null {
  const { protocol, hostname, port } = new URL(address);
  const isSecure = protocol === 'https:' || protocol === 'wss:';
  const named = variable(environment, isSecure ? 'https_proxy' : 'http_proxy');
  if (named === '' || !URL.canParse(named)) return null;
  const target = { host: bareHost(hostname), port: port || (isSecure ? '443' : '80') };
  const exceptions = variable(environment, 'no_proxy')
    .split(/[\s,]+/)
    .filter(Boolean);
  return exceptions.some((exception) => matches(exception, target)) ? null : new URL(named);
}

const VARIABLES = ['http_proxy', 'https_proxy', 'no_proxy'];

/** The variables that name a proxy, for Node's own agents: asking for the whole environment takes more permission. */
export function proxyVariables(environment: ProxyEnvironment): Record<string, string> {
  const names = VARIABLES.flatMap((name) => [name, name.toUpperCase()]);
  return Object.fromEntries(names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])));
}

/** As it may be shown: without a password. */
export function shownProxy(proxy: URL): string {
  return `${proxy.protocol}//${proxy.host}`;
}

/** Lower case wins, as everywhere. */
function variable(environment: ProxyEnvironment, name: string): string {
  return (environment[name] ?? environment[name.toUpperCase()] ?? '').trim();
}

function matches(exception: string, target: { host: string; port: string }): boolean {
  if (exception === '*') return true;
  // An address of IPv6 has colons of its own: only behind brackets is the last one a port's.
  const [, name = exception, port] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(exception) ?? [];
  if (port !== undefined && port !== target.port) return false;
  const suffix = bareHost(name).replace(/^\*?\./, '');
  return target.host === suffix || target.host.endsWith(`.${suffix}`);
}

function bareHost(hostname: string): string {
  return hostname.toLowerCase().replace(/^\[|\]$/g, '');
}
