/**
 * Desktops on a WebSocket: the same router and messages as tRPC's own clients use.
 *
 * Owns the sockets that are open, which of a desktop is the newest, and their end when the relay stops. Who may open
 * one is decided before it gets here; the life of one socket is in desktop-socket.ts.
 */
import type { IncomingMessage } from 'node:http';
import { getWSConnectionHandler } from '@trpc/server/adapters/ws';
import { type CallContext, type createRelayRouter, TRPC_PATH } from '../protocol/api.ts';
import { asRelayError, ERRORS, RelayError } from '../protocol/errors.ts';
import { CALLS_PER_BATCH } from '../protocol/limits.ts';
import type { Clock, Log } from '../protocol/ports.ts';
import { DesktopSocket, type ServerSocket, type SocketEnd, type SocketTimes } from './desktop-socket.ts';
import { trpcError } from './http-answers.ts';

export type { DesktopSocket, ServerSocket } from './desktop-socket.ts';

/** Answers the frames of a socket. Tells it of each call that begins, and of each answer right before it is sent. */
export type ServeFrames = (socket: DesktopSocket) => void;

export interface AcceptOptions {
  /** Bytes that have come over the connection so far. */
  readonly bytesRead?: () => number;
  /** In place of tRPC's own handler: the simulation has a shorter way to the same calls. */
  readonly serve?: ServeFrames;
}

export interface DesktopSocketsOptions {
  readonly router: ReturnType<typeof createRelayRouter>;
  readonly clock: Clock;
  readonly log: Log;
  readonly times: SocketTimes;
  /** The newest socket of this desktop has fallen silent, and nothing says that it still lives. */
  readonly onSilent: (desktopId: string) => void;
  /** Counts so many messages of this desktop. Throws when there were too many before. */
  readonly count: (desktopId: string, messages: number) => void;
}

type TrpcSocket = Parameters<ReturnType<typeof getWSConnectionHandler>>[0];

/** The handler wants the request that was upgraded, and looks at its address only. */
const UPGRADED = { url: TRPC_PATH, headers: {} } as IncomingMessage;

const STOPPING: SocketEnd = { code: ERRORS['shutting-down'].wsClose, reason: 'the relay stops' };
const REVOKED: SocketEnd = { code: ERRORS.unauthorized.wsClose, reason: 'the token was revoked' };

export class DesktopSockets {
  readonly #options: DesktopSocketsOptions;
  readonly #open = new Set<DesktopSocket>();
  readonly #newest = new Map<string, DesktopSocket>();
  readonly #serve: ServeFrames;

  constructor(options: DesktopSocketsOptions) {
    this.#options = options;
    this.#serve = trpcFrames(options);
  }

  accept(socket: ServerSocket, desktopId: string, { bytesRead, serve = this.#serve }: AcceptOptions = {}): void {
    const { clock, times } = this.#options;
    const accepted: DesktopSocket = new DesktopSocket({
      socket,
      desktopId,
      clock,
      times,
      ...(bytesRead && { bytesRead }),
      onSilent: (silentMs) => this.#fellSilent(accepted, silentMs),
    });
    this.#open.add(accepted);
    this.#newest.set(desktopId, accepted);
    void accepted.closed.then(() => {
      this.#open.delete(accepted);
      if (this.#newest.get(desktopId) === accepted) this.#newest.delete(desktopId);
    });
    serve(accepted);
  }

  get size(): number {
    return this.#open.size;
  }

  /** Ends the sockets of a desktop that may not come in any more. Its calls learn why from the code of the end. */
  closeOf(desktopId: string): void {
    for (const socket of this.#open) if (socket.desktopId === desktopId) socket.end(REVOKED);
  }

  /** Tells every desktop to connect again somewhere, soon, once it has its answers. Resolves when all sockets are gone. */
  async closeAll(): Promise<void> {
    await Promise.all([...this.#open].map((socket) => socket.finish(STOPPING)));
  }

  /** A desktop that gave this socket up long ago has a newer one, or none: then its silence means nothing. */
  #fellSilent(socket: DesktopSocket, silentMs: number): void {
    const { log, onSilent } = this.#options;
    const { desktopId } = socket;
    const isNewest = this.#newest.get(desktopId) === socket;
    log.info('socket.fell-silent', { desktop_id: desktopId, silent_ms: Math.round(silentMs), newest: isNewest });
    if (isNewest) onSilent(desktopId);
  }
}

/** tRPC's handler, with an eye on which calls are still to be answered. */
function trpcFrames({ router, log, count }: DesktopSocketsOptions): ServeFrames {
  return (socket) => {
    const connect = getWSConnectionHandler({
      // The handler serves sockets that it is given; the type asks for a server of `ws` all the same, and never uses it.
      wss: undefined as never,
      router,
      createContext: ({ info }): CallContext => ({
        desktopId: socket.desktopId,
        transport: 'websocket',
        // A call is over when its connection is: nothing else ever aborts it on this side.
        signal: info.signal,
      }),
      experimental_encoder: countingCodec(socket, count),
      onError: ({ error, path }) => log.debug('socket.call-failed', { call: path, reason: error.message }),
    });
    connect(socket as unknown as TrpcSocket, UPGRADED);
  };
}

/**
 * tRPC's own JSON, one message or several in a frame. Decodes each frame of calls, and encodes right before it sends. What
 * is too much is refused here, whatever is in it.
 */
function countingCodec(socket: DesktopSocket, count: DesktopSocketsOptions['count']) {
  function refusalOf(messages: readonly unknown[]): RelayError | null {
    try {
      count(socket.desktopId, messages.length);
      return null;
    } catch (error) {
      return asRelayError(error);
    }
  }
  return {
    encode(answer: unknown): string {
      socket.answered((answer as { id?: unknown }).id);
      return JSON.stringify(answer);
    },
    decode(data: unknown): unknown {
      const messages = [JSON.parse(String(data)) as unknown].flat();
      if (messages.length > CALLS_PER_BATCH) throw tooManyCalls();
      const refusal = refusalOf(messages);
      for (const message of messages.filter(isCall)) {
        if (refusal === null) socket.began(message.id);
        else socket.send(JSON.stringify({ id: message.id, ...trpcError(refusal) }));
      }
      return refusal === null ? messages : [];
    },
  };
}

function tooManyCalls(): RelayError {
  return new RelayError('too-large', `A frame may have ${CALLS_PER_BATCH} calls at most. Send fewer at once.`);
}

function isCall(message: unknown): message is { readonly id: unknown } {
  if (typeof message !== 'object' || message === null || !('id' in message) || !('method' in message)) return false;
  return message.method === 'mutation' || message.method === 'query';
}
