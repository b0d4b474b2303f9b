/**
 * The versions of the desktop's contract, and how both sides name those that they speak.
 *
 * 1: the contract of the published system: sync, control and complete without instances, epochs, acks and holds. Served
 *    as plain JSON (`plain-contract.ts`), and over tRPC to whoever leaves out what version 2 added.
 * 2: everything in `schemas.ts`.
 *
 * A request names the versions that its sender speaks; every answer names those that are served. A request without the
 * header speaks the version of the route that it came to. Owns the numbers and the check; knows no transport.
 */
import { RelayError } from './errors.ts';

/** The version that our own desktop speaks. */
export const PROTOCOL_VERSION = 2;
export const PLAIN_VERSION = 1;

/** Over tRPC; the plain-JSON routes are version 1 and nothing else. */
export const SERVED_VERSIONS: readonly number[] = [PLAIN_VERSION, PROTOCOL_VERSION];

/** Versions as decimal numbers, separated by commas. */
export const PROTOCOL_HEADER = 'x-graph-relay-protocol';

/** What goes into the header. */
export function namedVersions(versions: readonly number[]): string {
  return versions.join(', ');
}

/** Throws `unsupported-protocol` unless one of the versions that the header names is served. */
export function refuseUnservedVersion(header: string | null | undefined, served: readonly number[]): void {
  if (header === null || header === undefined) return;
  const named = header.split(',').map((version) => version.trim());
  if (served.some((version) => named.includes(String(version)))) return;
  throw new RelayError(
    'unsupported-protocol',
    `This relay speaks version ${served.join(' and ')} of the desktop's protocol here, and was asked for ${JSON.stringify(header.slice(0, 40))}. Update the desktop or the relay.`,
  );
}
