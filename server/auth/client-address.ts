/**
 * Who is at the other end, for limits that count by address.
 *
 * Owns when a forwarded address is believed: only where the relay has a public address (so there is a proxy), only from a
 * neighbour, and only the last entry, which that neighbour wrote itself. The entries before it are whatever a client sent.
 */
import { isIP } from 'node:net';
import { isPublicAddress } from './document-fetch.ts';

export function clientAddress(request: Pick<Request, 'headers'>, socketAddress: string, isProxied: boolean): string {
  const address = unmapped(socketAddress);
  if (!isProxied || isPublicAddress(address)) return address;
  const last = unmapped((request.headers.get('x-forwarded-for') ?? '').split(',').at(-1)?.trim() ?? '');
  return isIP(last) === 0 ? address : last;
}

/** What a limit counts by: one IPv4 address, or the network of an IPv6 address, since whoever has one has 2^64 of them. */
export function limitKey(address: string): string {
  if (isIP(address) !== 6) return address;
  const [left = '', right] = address.toLowerCase().split('::');
  const groups = left === '' ? [] : left.split(':');
  const after = right === undefined || right === '' ? [] : right.split(':');
  const missing = right === undefined ? 0 : 8 - groups.length - after.length;
  const all = [...groups, ...Array<string>(Math.max(0, missing)).fill('0'), ...after];
  return `${all
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`;
}

/** An IPv4 address as a socket for both families shows it is the same address. */
function unmapped(address: string): string {
  const inner = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  return inner ?? address;
}
