/**
 * Desktops on a WebSocket: the same router and messages as tRPC's own clients use.
 *
 * Owns the sockets that are open, and their end when the relay stops. Who may open one is decided before it gets here.
 */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { getWSConnectionHandler } from '@trpc/server/adapters/ws';
import { type CallContext, type createRelayRouter, TRPC_PATH } from '../protocol/api.ts';
import { ERRORS } from '../protocol/errors.ts';
import type { Log } from '../protocol/ports.ts';

/** What the relay needs of a socket: `ws` has it, and so has the simulation's. */
export interface ServerSocket extends EventEmitter {
  readonly readyState: number;
  send(text: string): void;
  close(code?: number, reason?: string): void;
  terminate(): void;
}

type TrpcSocket = Parameters<ReturnType<typeof getWSConnectionHandler>>[0];

/** The handler wants the request that was upgraded, and looks at its address only. */
const UPGRADED = { url: TRPC_PATH, headers: {} } as IncomingMessage;

export class DesktopSockets {
  readonly #open = new Set<ServerSocket>();
  readonly #connect: ReturnType<typeof getWSConnectionHandler>;
  readonly #desktopOf = new WeakMap<object, string>();

  constructor(options: { router: ReturnType<typeof createRelayRouter>; log: Log }) {
    // The handler serves sockets that it is given; the type asks for a server of `ws` all the same, and never uses it.
    const wss = undefined as never;
    this.#connect = getWSConnectionHandler({
      wss,
      router: options.router,
      createContext: ({ res, info }): CallContext => ({
        desktopId: this.#desktopOf.get(res) ?? '',
        transport: 'websocket',
        // A call is over when its connection is: nothing else ever aborts it on this side.
        signal: info.signal,
      }),
      onError: ({ error, path }) => options.log.debug('socket.call-failed', { call: path, reason: error.message }),
    });
  }

  accept(socket: ServerSocket, desktopId: string): void {
    this.#desktopOf.set(socket, desktopId);
    this.#open.add(socket);
    socket.once('close', () => this.#open.delete(socket));
    this.#connect(socket as unknown as TrpcSocket, UPGRADED);
  }

  get size(): number {
    return this.#open.size;
  }

  /** Ends the sockets of a desktop that may not come in any more, once it has its last answers. */
  closeOf(desktopId: string): void {
    for (const socket of this.#open) {
      if (this.#desktopOf.get(socket) === desktopId) socket.close(ERRORS.unauthorized.wsClose, 'the token was revoked');
    }
  }

  /** Tells every desktop to connect again somewhere, soon. */
  closeAll(): void {
    for (const socket of this.#open) socket.close(ERRORS['shutting-down'].wsClose, 'the relay stops');
  }
}
