/**
 * Lets a desktop name other versions of the protocol than its own: what an older or newer one would send.
 *
 * Owns the header on its way out, for requests and for upgrades. Decides nothing: the relay does.
 */
import type { OpenSocket } from '../../../desktop-agent/dialer/socket-link.ts';
import { PROTOCOL_HEADER } from '../../../protocol/versions.ts';

/** The headers with these versions in them; null takes the header out. */
export function headersNaming(headers: Readonly<Record<string, string>>, names: string | null): Record<string, string> {
  const { [PROTOCOL_HEADER]: _own, ...others } = headers;
  return names === null ? others : { ...others, [PROTOCOL_HEADER]: names };
}

export function socketsNaming(names: string | null, open: OpenSocket): OpenSocket {
  return (url, headers, events) => open(url, headersNaming(headers, names), events);
}
