/**
 * WebSocket upgrades on the relay's port.
 *
 * Owns the raw socket between the request and the open WebSocket: it has an error handler from the first moment, and a
 * refusal is a complete HTTP answer.
 */
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { TRPC_PATH } from '../protocol/api.ts';
import { asRelayError, ERRORS, RelayError } from '../protocol/errors.ts';
import { BODY_BYTES, RETRY_AFTER_SECONDS } from '../protocol/limits.ts';
import { namedVersions, PROTOCOL_HEADER, refuseUnservedVersion, SERVED_VERSIONS } from '../protocol/versions.ts';
import type { DesktopPrincipal } from './access.ts';
import type { AcceptOptions, ServerSocket } from './desktop-sockets.ts';
import type { FrontDoor } from './front-door.ts';
import { bearerOf } from './http-answers.ts';

/** What decides whether an upgrade is granted. */
export interface UpgradeGate {
  /** Throws where there were too many requests before. */
  readonly desktopOf: (bearer: string, address: string) => DesktopPrincipal | null;
  readonly draining: () => boolean;
}

export interface UpgradeOptions extends UpgradeGate {
  /** Where strangers can reach it: whether they come by a name of ours. */
  readonly door?: FrontDoor;
  readonly accept: (socket: ServerSocket, desktopId: string, options: AcceptOptions) => void;
}

export function handleUpgrades(server: Server, options: UpgradeOptions): void {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: BODY_BYTES, perMessageDeflate: false });
  const addressOf = (request: IncomingMessage, raw: Duplex) => {
    const socketAddress = (raw as Socket).remoteAddress ?? '';
    const forwarded = String(request.headers['x-forwarded-for'] ?? '');
    return options.door?.addressOf(new Headers({ 'x-forwarded-for': forwarded }), socketAddress) ?? socketAddress;
  };
  server.on('upgrade', (request: IncomingMessage, raw: Duplex, head: Buffer) => {
    // Without this, a client that resets here would end the process.
    const ignore = () => raw.destroy();
    raw.on('error', ignore);
    const caller =
      options.door?.refusalOfUpgrade(request) ?? identifyUpgrade(request, options, addressOf(request, raw));
    if (caller instanceof RelayError) {
      refuse(raw, caller);
      return;
    }
    sockets.handleUpgrade(request, raw, head, (socket) => {
      raw.off('error', ignore);
      options.accept(socket, caller.desktopId, { bytesRead: () => (raw as Socket).bytesRead });
    });
  });
}

/** The desktop that asks for a WebSocket, or why it gets none. `address`: where it asks from. */
export function identifyUpgrade(
  request: Pick<IncomingMessage, 'url' | 'headers'>,
  gate: UpgradeGate,
  address = '',
): RelayError | DesktopPrincipal {
  const refused = (code: RelayError['code']) => new RelayError(code, `The WebSocket was refused: ${code}.`);
  // `new URL` would throw on an address like `//`, and nobody here catches it.
  const path = URL.parse(request.url ?? '/', 'http://relay.invalid')?.pathname;
  if (path !== TRPC_PATH) return refused('invalid-input');
  if (gate.draining()) return refused('shutting-down');
  try {
    const desktop = gate.desktopOf(bearerOf(request.headers.authorization), address);
    if (desktop === null) return refused('unauthorized');
    refuseUnservedVersion(request.headers[PROTOCOL_HEADER]?.toString(), SERVED_VERSIONS);
    return desktop;
  } catch (error) {
    return asRelayError(error);
  }
}

function refuse(raw: Duplex, { code, message, retryAfterSeconds = RETRY_AFTER_SECONDS }: RelayError): void {
  const { http } = ERRORS[code];
  const body = JSON.stringify({ error: { message, data: { relayCode: code } } });
  raw.end(
    [
      `HTTP/1.1 ${http} ${STATUS_CODES[http] ?? ''}`,
      'Connection: close',
      'Content-Type: application/json; charset=utf-8',
      'X-Content-Type-Options: nosniff',
      'Cache-Control: no-store',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `${PROTOCOL_HEADER}: ${namedVersions(SERVED_VERSIONS)}`,
      ...(http === 503 || http === 429 ? [`Retry-After: ${retryAfterSeconds}`] : []),
      '',
      body,
    ].join('\r\n'),
    () => raw.destroy(),
  );
}
