/** Real WebSockets, through `ws`: the one file of the desktop that opens one. */
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { ERRORS, type ErrorCode } from '../../protocol/errors.ts';
import { BODY_BYTES } from '../../protocol/limits.ts';
import { errorFromWire } from '../../protocol/trpc-errors.ts';
import type { ProxyEnvironment } from './proxy-settings.ts';
import type { OpenSocket } from './socket-link.ts';
import { tunnelFor } from './tunnel.ts';

/** An upgrade that takes longer fails; the caller's own limit is the same. */
const HANDSHAKE_MS = 10_000;

/** A refusal of ours is short. What is longer is somebody's web page. */
const REFUSAL_CHARS = 4_000;

/** Opens a socket, through the proxy that the environment names for its address. */
export function createOpenSocket(environment: ProxyEnvironment): OpenSocket {
  return (url, headers, events) => {
    const createConnection = tunnelFor(url, environment);
    const socket = new WebSocket(url, {
      headers,
      handshakeTimeout: HANDSHAKE_MS,
      maxPayload: BODY_BYTES,
      perMessageDeflate: false,
      ...(createConnection && { createConnection }),
    });
    let failure = '';
    let closed = false;
    const close = (reason: string, code?: ErrorCode) => {
      if (closed) return;
      closed = true;
      events.onClose(reason, code);
    };
    socket.on('open', () => events.onOpen());
    socket.on('message', (data) => events.onMessage(String(data)));
    socket.on('error', (error) => {
      failure = error.message;
    });
    socket.on('unexpected-response', (request, response) => {
      void refusalIn(response).then((code) => {
        request.destroy();
        close(`the upgrade was answered with status ${response.statusCode}`, code);
      });
    });
    socket.on('close', (code, said) => {
      close(failure || said.toString() || `closed with code ${code}`, meaningOf(code));
    });
    return { send: (text) => socket.send(text), terminate: () => socket.terminate() };
  };
}

export const openSocket = createOpenSocket(process.env);

/** The relay's own code in the answer to an upgrade; undefined when somebody else answered. */
async function refusalIn(response: IncomingMessage): Promise<ErrorCode | undefined> {
  let text = '';
  try {
    for await (const chunk of response.setEncoding('utf8')) {
      text += chunk;
      if (text.length > REFUSAL_CHARS) return undefined;
    }
    return errorFromWire((JSON.parse(text) as { error: { message: string; data?: unknown } }).error)?.code;
  } catch {
    return undefined;
  }
}

/** What the relay says with a close code. Undefined for the codes that anybody on the way may use. */
function meaningOf(close: number): ErrorCode | undefined {
  const isOurs = close >= 4_000 || close === ERRORS['too-large'].wsClose || close === ERRORS['shutting-down'].wsClose;
  if (!isOurs) return undefined;
  return (Object.keys(ERRORS) as ErrorCode[]).find((code) => ERRORS[code].wsClose === close);
}
