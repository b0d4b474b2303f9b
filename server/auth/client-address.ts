/**
 * Who is at the other end, for limits that count by address.
 *
 * Owns when a forwarded address is believed: only where the relay has a public address (so there is a proxy), only from a
 * neighbour, and only the last entry, which that neighbour wrote itself. The entries before it are whatever a client sent.
 */
import { isIP } from 'node:net';
import { isPublicAddress } from './document-fetch.ts';

export function clientAddress(request: Request, socketAddress: string, isProxied: boolean): string {
  const address = unmapped(socketAddress);
  if (!isProxied || isPublicAddress(address)) return address;
  const last = unmapped((request.headers.get('x-forwarded-for') ?? '').split(',').at(-1)?.trim() ?? '');
  return isIP(last) === 0 ? address : last;
}

/** An IPv4 address as a socket for both families shows it is the same address. */
function unmapped(address: string): string {
  const inner = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  return inner ?? address;
}
