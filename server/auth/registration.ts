/**
 * What clients say of themselves, brought into a form that the authorization server takes.
 *
 * Real clients leave out what the standard asks for, or ask for more than they use; each rule here is there because one
 * of them does. Owns which redirect addresses are taken at all. Must not fetch or store anything.
 */

export type ClientMetadata = Readonly<Record<string, unknown>>;

const LOOPBACK = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** Schemes that run or show something instead of starting the client, and those of the web, which are looked at apart. */
const FORBIDDEN_SCHEMES = /^(javascript|data|vbscript|file|blob|about|mailto|tel|ftp|ws|wss|view-source|filesystem):$/;

const REDIRECTS_MAX = 20;
const NAME_MAX_CHARS = 80;
const SECRET_METHODS: readonly unknown[] = ['client_secret_basic', 'client_secret_post'];

/** What is wrong with the redirect addresses of a client; null when they are fine. */
export function redirectProblem(metadata: ClientMetadata): string | null {
  const uris = metadata.redirect_uris;
  if (!Array.isArray(uris) || uris.length === 0) return 'redirect_uris must be a list with at least one address.';
  if (uris.length > REDIRECTS_MAX) return `redirect_uris may have up to ${REDIRECTS_MAX} addresses.`;
  for (const uri of uris) {
    const url = typeof uri === 'string' ? URL.parse(uri) : null;
    if (url === null) return 'redirect_uris must hold absolute addresses only.';
    const shown = JSON.stringify(uri).slice(0, 200);
    if (FORBIDDEN_SCHEMES.test(url.protocol)) return `${shown} cannot be a redirect address: it starts no client.`;
    if (url.protocol === 'http:' && !LOOPBACK.has(url.hostname)) {
      return `${shown} would send codes over an open network. Use https, a loopback address, or a scheme of your own.`;
    }
    if (url.hash !== '' || (uri as string).includes('#')) return `${shown} has a fragment, and codes would get lost.`;
    if (url.username !== '' || url.password !== '') return `${shown} has a user name in it, which hides its host.`;
  }
  return null;
}

/** The registration as it is kept. */
export function normaliseMetadata(metadata: ClientMetadata): ClientMetadata {
  const uris = (metadata.redirect_uris as readonly string[]).map((uri) => new URL(uri));
  // Any port of a loopback address and own schemes are for native clients only; many do not say that they are one.
  const isNative = uris.some(({ protocol }) => protocol !== 'https:');
  const method = SECRET_METHODS.includes(metadata.token_endpoint_auth_method)
    ? metadata.token_endpoint_auth_method
    : acceptedMethod(metadata);
  return {
    redirect_uris: metadata.redirect_uris,
    client_name: nameOf(metadata, uris[0]?.host),
    ...webAddress(metadata, 'client_uri'),
    application_type: isNative ? 'native' : 'web',
    // Refresh tokens come without asking: a client that forgot to ask would have its owner log in each hour.
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: method,
  };
}

/** What is wrong with the document at an address that is a client's id; null when it is fine. */
export function documentProblem(document: ClientMetadata, url: string): string | null {
  if (document.client_id !== url) return 'client_id must be the address of the document.';
  if ('client_secret' in document || SECRET_METHODS.includes(document.token_endpoint_auth_method)) {
    return 'A document that all can read can have no secret.';
  }
  return redirectProblem(document);
}

/** A document without a problem, as a registration. */
export function normaliseDocument(document: ClientMetadata): ClientMetadata {
  return { ...normaliseMetadata(document), client_id: document.client_id };
}

/** Everything but secrets counts as a public client, unless it insists on a method that is not served here. */
function acceptedMethod(metadata: ClientMetadata): unknown {
  const method = metadata.token_endpoint_auth_method ?? 'none';
  const choices = metadata.token_endpoint_auth_methods_supported;
  return Array.isArray(choices) && choices.includes('none') ? 'none' : method;
}

/** A name for people. It comes from a stranger, so nothing in it may look like a part of our page. */
function nameOf(metadata: ClientMetadata, host: string | undefined): string {
  const given = typeof metadata.client_name === 'string' ? metadata.client_name : '';
  const name = [...given.normalize('NFC').replace(/\p{C}|[\p{Z}\s]+/gu, ' ')].slice(0, NAME_MAX_CHARS).join('').trim();
  return name === '' ? `client at ${host ?? 'an unknown place'}` : name;
}

function webAddress(metadata: ClientMetadata, key: string): ClientMetadata {
  const value = metadata[key];
  const url = typeof value === 'string' ? URL.parse(value) : null;
  return url?.protocol === 'https:' ? { [key]: url.href } : {};
}
