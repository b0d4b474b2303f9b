/**
 * WebSockets without sockets: two ends of a pair, and a delay between them.
 *
 * Frames keep their order, as they do on a TCP connection, also when the delay varies.
 */
import { EventEmitter } from 'node:events';
import type { OpenSocket, SocketEvents } from '../../desktop-agent/dialer/socket-link.ts';
import type { Relay } from '../../server/relay.ts';
import type { VirtualClock } from './virtual-clock.ts';

const OPEN = 1;
const CLOSED = 3;

export function simulatedSocket(options: {
  clock: VirtualClock;
  delayMs: () => number;
  relay: Relay;
  token: string;
}): OpenSocket {
  const { clock, delayMs, relay } = options;
  return (_url, headers, events) => {
    const toRelay = orderedWire(clock, delayMs);
    const toDesktop = orderedWire(clock, delayMs);
    const ping = () => toDesktop(() => toRelay(() => server.emit('pong')));
    const server: ServerEnd = new ServerEnd({ wire: toDesktop, ping, events });
    let over = false;
    toRelay(() => {
      const desktop = relay.access.desktopOf(headers.authorization?.replace('Bearer ', '') ?? '');
      if (over) return;
      if (desktop === null || relay.draining()) {
        toDesktop(() => events.onClose('the upgrade was answered with status 401'));
        return;
      }
      clock.trace('socket open');
      relay.acceptSocket(server, desktop.desktopId);
      toDesktop(() => events.onOpen());
    });
    return {
      send: (text) => toRelay(() => server.receive(text)),
      terminate() {
        over = true;
        toRelay(() => server.lost());
      },
    };
  };
}

/** Delivers in order: nothing overtakes what was sent before it. */
function orderedWire(clock: VirtualClock, delayMs: () => number): (deliver: () => void) => void {
  let lastAt = 0;
  return (deliver) => {
    lastAt = Math.max(lastAt, clock.monotonic() + delayMs());
    clock.after(lastAt - clock.monotonic(), deliver);
  };
}

class ServerEnd extends EventEmitter {
  readyState = OPEN;
  readonly #wire: (deliver: () => void) => void;
  readonly #events: SocketEvents;
  /** Whatever program is behind it, a WebSocket answers by itself. */
  readonly ping: () => void;

  constructor(given: { wire: (deliver: () => void) => void; ping: () => void; events: SocketEvents }) {
    super();
    this.#wire = given.wire;
    this.#events = given.events;
    this.ping = given.ping;
  }

  send(text: string): void {
    if (this.readyState === OPEN) this.#wire(() => this.#events.onMessage(text));
  }

  receive(text: string): void {
    if (this.readyState === OPEN) this.emit('message', Buffer.from(text), false);
  }

  close(code = 1000, reason = ''): void {
    if (this.readyState !== OPEN) return;
    this.#wire(() => this.#events.onClose(reason || `closed with code ${code}`));
    this.lost();
  }

  terminate(): void {
    this.close(1006);
  }

  /** The other side is gone. */
  lost(): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSED;
    this.emit('close');
  }
}
