/**
 * The whole stack as in the simulation, with each byte counted on the desktop's side.
 *
 * Owns what a message weighs: what `node:http` and `ws` put on a TCP connection for it. A test holds this against real
 * sockets.
 */
import { STATUS_CODES } from 'node:http';
import { createDialers } from '../../desktop-agent/dialer/dialers.ts';
import type { OpenSocket } from '../../desktop-agent/dialer/socket-link.ts';
import { socketsOver } from '../sim/faults/socket-wire.ts';
import type { Fetch } from '../sim/network.ts';
import { FULL_PATH, fetchOver, URL_OF_RELAY } from '../sim/paths/full-path.ts';
import type { Path } from '../sim/paths/path.ts';
import type { Meter } from './meter.ts';

export function meteredPath(meter: Meter): Path {
  return {
    ...FULL_PATH,
    dialers: (given) =>
      createDialers({
        url: URL_OF_RELAY,
        token: () => given.token,
        clock: given.life,
        fetch: meteredFetch(meter, fetchOver(given)),
        open: meteredSockets(meter, socketsOver(given.sockets, given.life)),
      }),
  };
}

export function meteredFetch(meter: Meter, send: Fetch): Fetch {
  return async (input, init = {}) => {
    meter.request();
    meter.bytes(requestBytes(String(input), init));
    const release = meter.hold();
    try {
      const answer = await send(input, init);
      const body = new Uint8Array(await answer.arrayBuffer());
      meter.bytes(answerBytes(answer, body.length));
      return new Response(body, { status: answer.status, headers: answer.headers });
    } finally {
      release();
    }
  };
}

const LINE_END = 2;

/** A request as `node:http` writes it. */
function requestBytes(url: string, { method = 'GET', headers, body }: RequestInit): number {
  const { pathname, search, host } = new URL(url);
  const length = typeof body === 'string' ? Buffer.byteLength(body) : 0;
  const own = [...new Headers(headers)];
  const added: [string, string][] = [
    ['Host', host],
    ['Connection', 'keep-alive'],
    ['Content-Length', String(length)],
  ];
  return `${method} ${pathname}${search} HTTP/1.1`.length + LINE_END + headerBytes([...own, ...added]) + length;
}

/** An answer as `node:http` writes it for the relay. */
function answerBytes(answer: Pick<Response, 'status' | 'headers'>, length: number): number {
  const added: [string, string][] = [
    ['Date', 'Thu, 01 Jan 2026 00:00:00 GMT'],
    ['Connection', 'keep-alive'],
    ['Keep-Alive', 'timeout=75'],
  ];
  if (!answer.headers.has('content-length')) added.push(['Content-Length', String(length)]);
  const statusLine = `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}`;
  return statusLine.length + LINE_END + headerBytes([...answer.headers, ...added]) + length;
}

function headerBytes(headers: readonly (readonly [string, string])[]): number {
  const lines = headers.reduce((sum, [name, value]) => sum + name.length + 2 + value.length + LINE_END, 0);
  return lines + LINE_END;
}

/** Of a call's frame; a `PING` is none. */
const CALL = /^\{"id":/;

export function meteredSockets(meter: Meter, open: OpenSocket): OpenSocket {
  return (url, headers, events) => {
    const release = meter.hold();
    meter.bytes(upgradeBytes(url, headers));
    const socket = open(url, headers, {
      onOpen: () => events.onOpen(),
      onMessage(text) {
        meter.bytes(frameBytes(text, 'to-client'));
        events.onMessage(text);
      },
      onClose(...ended) {
        release();
        events.onClose(...ended);
      },
    });
    return {
      send(text) {
        if (CALL.test(text)) meter.request();
        meter.bytes(frameBytes(text, 'to-server'));
        socket.send(text);
      },
      terminate() {
        release();
        socket.terminate();
      },
    };
  };
}

/** Both halves of the handshake, as `ws` writes them. */
function upgradeBytes(url: string, headers: Readonly<Record<string, string>>): number {
  const { pathname, search, host } = new URL(url);
  const key = 'x'.repeat(24);
  const accept = 'x'.repeat(28);
  const asked = headerBytes([
    ['Sec-WebSocket-Version', '13'],
    ['Sec-WebSocket-Key', key],
    ['Connection', 'Upgrade'],
    ['Upgrade', 'websocket'],
    ...Object.entries(headers),
    ['Host', host],
  ]);
  const granted = headerBytes([
    ['Upgrade', 'websocket'],
    ['Connection', 'Upgrade'],
    ['Sec-WebSocket-Accept', accept],
  ]);
  const firstLines = `GET ${pathname}${search} HTTP/1.1`.length + 'HTTP/1.1 101 Switching Protocols'.length;
  return firstLines + 2 * LINE_END + asked + granted;
}

/** RFC 6455: two bytes, more of a long payload's length, and a client's mask. */
function frameBytes(text: string, direction: 'to-client' | 'to-server'): number {
  const length = Buffer.byteLength(text);
  const extended = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  return 2 + extended + (direction === 'to-server' ? 4 : 0) + length;
}
