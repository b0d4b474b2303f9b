/**
 * WebSockets whose other end is the test: it sees what was sent, and says what comes and when.
 *
 * Owns no time and no relay. `answer` plays the relay's part in tRPC's message format.
 */
import type { OpenSocket, SocketEvents } from '../../desktop-agent/dialer/socket-link.ts';
import type { ErrorCode } from '../../protocol/errors.ts';

export class ScriptedSocket {
  readonly headers: Record<string, string>;
  readonly events: SocketEvents;
  readonly sent: string[] = [];
  terminated = false;

  constructor(headers: Record<string, string>, events: SocketEvents) {
    this.headers = headers;
    this.events = events;
  }

  /** The calls that came in over this socket, pings left out. */
  get calls(): { id: number; params: { path: string; input: Record<string, unknown> } }[] {
    return this.sent.filter((text) => text !== 'PING').map((text) => JSON.parse(text));
  }

  open(): void {
    this.events.onOpen();
  }

  answer(id: number, data: unknown): void {
    this.events.onMessage(JSON.stringify({ id, result: { type: 'data', data } }));
  }

  pong(): void {
    this.events.onMessage('PONG');
  }

  close(reason: string, code?: ErrorCode): void {
    this.events.onClose(reason, code);
  }
}

export function scriptedSockets(onOpen: (socket: ScriptedSocket) => void = () => {}) {
  const sockets: ScriptedSocket[] = [];
  const open: OpenSocket = (_url, headers, events) => {
    const socket = new ScriptedSocket(headers, events);
    sockets.push(socket);
    onOpen(socket);
    return {
      send: (text) => void socket.sent.push(text),
      terminate() {
        socket.terminated = true;
      },
    };
  };
  return { sockets, open };
}
