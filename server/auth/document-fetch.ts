/**
 * Fetches a document from an address that a stranger gave: a client's description of itself.
 *
 * Owns that the relay cannot be used to reach what only it can reach: addresses of this machine, of its network, and of
 * nobody. The address that was looked at is the one that is connected to, so a name cannot change its mind in between;
 * redirects are not followed; only https, and only its usual port.
 */
import { lookup as systemLookup } from 'node:dns';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { Readable } from 'node:stream';

/** Everything in IANA's special-purpose registries that is not a place in the public internet, and multicast. */
const SPECIAL: readonly (readonly [net: string, bits: number, family: 'ipv4' | 'ipv6'])[] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.0.2.0', 24, 'ipv4'],
  ['192.88.99.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['198.51.100.0', 24, 'ipv4'],
  ['203.0.113.0', 24, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
];

/** The public internet of IPv6, out of which these are taken: tunnels to IPv4 addresses, documentation, benchmarks. */
const GLOBAL_IPV6 = ['2000::', 3] as const;
const SPECIAL_IPV6: readonly (readonly [net: string, bits: number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const special = new BlockList();
for (const [net, bits, family] of SPECIAL) special.addSubnet(net, bits, family);
for (const [net, bits] of SPECIAL_IPV6) special.addSubnet(net, bits, 'ipv6');
const global6 = new BlockList();
global6.addSubnet(GLOBAL_IPV6[0], GLOBAL_IPV6[1], 'ipv6');

/** Whether this is an address of the public internet. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !special.check(address, 'ipv4');
  // What is not global is local, mapped from IPv4, or unassigned.
  return family === 6 && global6.check(address, 'ipv6') && !special.check(address, 'ipv6');
}

export interface DocumentFetchOptions {
  readonly lookup?: LookupFunction;
  readonly request?: (url: URL, options: RequestOptions) => ClientRequest;
}

export function createDocumentFetch(options: DocumentFetchOptions = {}) {
  const { lookup = systemLookup as LookupFunction, request: open = httpsRequest } = options;
  const guarded: LookupFunction = (hostname, options, done) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return done(error, [], 0);
      const addresses = Array.isArray(found) ? found : [{ address: found, family: isIP(found) }];
      const open = addresses.filter(({ address }) => isPublicAddress(address));
      const [first] = open;
      if (first === undefined) return done(refused(hostname), [], 0);
      if (options.all) done(null, open);
      else done(null, first.address, first.family);
    });
  };

  return async function fetchDocument(address: string, init: RequestInit): Promise<Response> {
    const url = new URL(address);
    const host = url.hostname.replace(/^\[|\]$/g, '');
    // An address in place of a name is not looked up, so it is looked at here.
    if (isIP(host) !== 0 && !isPublicAddress(host)) throw refused(host);
    if (url.protocol !== 'https:' || url.port !== '') throw refused(url.host);
    const headers = { accept: 'application/json', 'user-agent': 'graph-relay' };
    const signal = init.signal ?? undefined;
    // No pool: a kept connection would skip the look at its address.
    const request = open(url, { agent: false, lookup: guarded, headers, ...(signal && { signal }) });
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    request.once('error', reject);
    request.once('response', (answer) => resolve(responseOf(answer)));
    request.end();
    return promise;
  };
}

/** Redirects are answers like any other that is no document. */
function responseOf(answer: IncomingMessage): Response {
  const headers = { 'cache-control': answer.headers['cache-control'] ?? '' };
  if (answer.statusCode === 200) {
    return new Response(Readable.toWeb(answer) as ReadableStream<Uint8Array>, { headers });
  }
  answer.destroy();
  return new Response(null, { status: 502 });
}

function refused(host: string): Error {
  return new Error(`${host} is no place in the public internet, so nothing is fetched from there.`);
}
