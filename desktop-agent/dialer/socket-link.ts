/**
 * A tRPC link over one WebSocket, with clock and socket from ports.
 *
 * Owns the connection: opened by the first call, shared by all, given up when it falls silent. tRPC's own `wsLink` does
 * this with real timers, reconnects on its own account and cannot be simulated; here the loop decides when to dial.
 */
import { TRPCClientError, type TRPCLink } from '@trpc/client';
import { observable } from '@trpc/server/observable';
import { type RelayRouter, TRPC_PATH } from '../../protocol/api.ts';
import { type ErrorCode, RelayError } from '../../protocol/errors.ts';
import { SOCKET_PING_MS, SOCKET_PONG_MS } from '../../protocol/limits.ts';
import type { Clock, Timer } from '../../protocol/ports.ts';
import { PROTOCOL_HEADER, PROTOCOL_VERSION } from '../../protocol/versions.ts';

/** An open or opening WebSocket, as far as it is needed here. */
export interface ClientSocket {
  send(text: string): void;
  /** Ends it at once, without a closing handshake. */
  terminate(): void;
}

export interface SocketEvents {
  onOpen(): void;
  onMessage(text: string): void;
  /** Called once, whatever ended it; also when it never opened. `code`: what the relay said, when it said something. */
  onClose(reason: string, code?: ErrorCode): void;
}

export type OpenSocket = (url: string, headers: Record<string, string>, events: SocketEvents) => ClientSocket;

export interface SocketLinkOptions {
  /** The relay's address, `http:` or `https:`. */
  readonly url: string;
  readonly token: () => string;
  readonly clock: Clock;
  readonly open: OpenSocket;
  /** Where a test has no time for the real ones. */
  readonly times?: LinkTimes;
}

export interface LinkTimes {
  /** After this much silence a sign of life is asked for. */
  readonly pingMs: number;
  /** Any frame must come within this after that. */
  readonly pongMs: number;
}

const TIMES: LinkTimes = { pingMs: SOCKET_PING_MS, pongMs: SOCKET_PONG_MS };

/** An upgrade that takes longer has failed. */
const OPEN_MS = 10_000;
/** Pings are not sent more often than this, whatever the path does with silent connections. */
const PING_MIN_MS = 2_000;
/** Pings come after this share of the silence that a path has cut: a lost one may be sent again. */
const PING_SHARE = 0.5;
/** Two cuts in a row after silences as alike as this are the path's doing. Wider: chance is taken for a habit. */
const ALIKE_SHARE = 0.25;

interface Pending {
  readonly text: string;
  readonly settle: (message: WireMessage) => void;
  readonly fail: (error: RelayError) => void;
}

interface WireMessage {
  readonly id?: number | string | null;
  readonly result?: { readonly data?: unknown };
  readonly error?: { readonly message: string; readonly code: number; readonly data: Record<string, unknown> };
}

export function socketLink(options: SocketLinkOptions): TRPCLink<RelayRouter> {
  return renewableSocketLink(options).link;
}

export interface RenewableLink {
  readonly link: TRPCLink<RelayRouter>;
  /** Ends the socket that is there, with its calls: the next call dials again. */
  readonly renew: () => void;
}

export function renewableSocketLink(options: SocketLinkOptions): RenewableLink {
  const lessons = new PathLessons(options.times ?? TIMES);
  let connection: Connection | null = null;
  const current = (): Connection => {
    if (connection === null || connection.ended) connection = new Connection(options, lessons);
    return connection;
  };
  const link: TRPCLink<RelayRouter> =
    () =>
    ({ op }) =>
      observable((observer) => {
        const { id, type, path, input, signal } = op;
        const text = JSON.stringify({ id, method: type, params: { path, input } });
        if (text.length >= lessons.tooLargeChars) {
          observer.error(TRPCClientError.from(tooLarge(text)));
          return () => {};
        }
        const forget = current().call(id, {
          text,
          settle: (message) => {
            if (message.error === undefined) {
              observer.next({ result: { type: 'data', data: message.result?.data } });
              observer.complete();
            } else {
              observer.error(TRPCClientError.from({ error: message.error } as never));
            }
          },
          fail: (error) => observer.error(TRPCClientError.from(error)),
        });
        // The other side is not told: a newer sync takes an older one's place there.
        const aborted = () => observer.error(TRPCClientError.from(new Error('The call was taken back.')));
        signal?.addEventListener('abort', aborted, { once: true });
        return () => {
          signal?.removeEventListener('abort', aborted);
          forget();
        };
      });
  const renew = () => {
    lessons.forget();
    connection?.giveUp();
  };
  return { link, renew };
}

/** What the connections of this desktop have taught about the path. */
class PathLessons {
  /** Silence after which a sign of life is asked for. */
  pingMs: number;
  readonly pongMs: number;
  /** Frames of this length end the connection, so they are not sent again. */
  tooLargeChars = Number.POSITIVE_INFINITY;

  readonly #usualPingMs: number;
  /** After how much silence the last connection was cut. */
  #lastCutMs: number | null = null;

  constructor({ pingMs, pongMs }: LinkTimes) {
    this.#usualPingMs = pingMs;
    this.pingMs = pingMs;
    this.pongMs = pongMs;
  }

  /**
   * Many proxies cut what has been silent for some seconds. It need not be silent for that long. One cut alone says
   * nothing: connections are lost by chance too, and each would make the next ping come sooner for ever.
   */
  cutAfter(silenceMs: number): void {
    const before = this.#lastCutMs;
    this.#lastCutMs = silenceMs;
    const alike = before !== null && Math.abs(silenceMs - before) <= ALIKE_SHARE * Math.max(silenceMs, before);
    if (!alike || silenceMs < PING_MIN_MS) return;
    this.pingMs = Math.max(PING_MIN_MS, Math.min(this.pingMs, silenceMs * PING_SHARE));
  }

  /** The way has changed: what was learned may be another one's. */
  forget(): void {
    this.pingMs = this.#usualPingMs;
    this.#lastCutMs = null;
  }

  tooLarge(chars: number): void {
    this.tooLargeChars = Math.min(this.tooLargeChars, chars);
  }
}

/** One socket, from its dialling to its end. Events of an older one can never reach a newer one. */
class Connection {
  readonly #clock: Clock;
  readonly #lessons: PathLessons;
  readonly #socket: ClientSocket;
  readonly #pending = new Map<number, Pending>();
  #timer: Timer;
  #opened = false;
  #ended = false;
  /** When the last frame came; null before the first. */
  #heardAt: number | null = null;

  constructor({ url, token, clock, open }: SocketLinkOptions, lessons: PathLessons) {
    this.#clock = clock;
    this.#lessons = lessons;
    const address = new URL(TRPC_PATH, url);
    address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
    this.#timer = clock.after(OPEN_MS, () => this.#end(`no WebSocket within ${OPEN_MS} ms`));
    this.#socket = open(
      address.href,
      { authorization: `Bearer ${token()}`, [PROTOCOL_HEADER]: String(PROTOCOL_VERSION) },
      {
        onOpen: () => this.#onOpen(),
        onMessage: (text) => this.#onMessage(text),
        onClose: (reason, code) => this.#onClose(reason, code),
      },
    );
    // It may have failed before there was a socket to end.
    if (this.#ended) this.#socket.terminate();
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Returns how to forget the call. */
  call(id: number, pending: Pending): () => void {
    if (this.#ended) {
      pending.fail(endedError('it never opened', 'unreachable'));
      return () => {};
    }
    this.#pending.set(id, pending);
    if (this.#opened) this.#socket.send(pending.text);
    return () => this.#pending.delete(id);
  }

  /** Something says that it may be dead, or lead the old way. */
  giveUp(): void {
    this.#end('it is not trusted any more');
  }

  #onOpen(): void {
    if (this.#ended) return;
    this.#opened = true;
    for (const { text } of this.#pending.values()) this.#socket.send(text);
    this.#waitThenPing();
  }

  #onMessage(text: string): void {
    if (this.#ended) return;
    this.#heardAt = this.#clock.monotonic();
    this.#waitThenPing();
    const message = parse(text);
    if (message === null || typeof message.id !== 'number') return;
    this.#pending.get(message.id)?.settle(message);
  }

  #onClose(reason: string, code: ErrorCode = 'unreachable'): void {
    if (this.#ended) return;
    if (this.#heardAt !== null && code === 'unreachable') {
      this.#lessons.cutAfter(this.#clock.monotonic() - this.#heardAt);
    }
    this.#end(reason, code);
  }

  #waitThenPing(): void {
    this.#timer.cancel();
    this.#timer = this.#clock.after(this.#lessons.pingMs, () => {
      // A sync is always on its way while the desktop uses this transport; without one it has moved to another.
      if (this.#pending.size === 0) {
        this.#end('nothing uses it');
        return;
      }
      this.#socket.send('PING');
      this.#timer = this.#clock.after(this.#lessons.pongMs, () => {
        // When it died is not known: somewhere before the ping, at the latest.
        this.#lessons.cutAfter(this.#lessons.pingMs);
        this.#end('it fell silent');
      });
    });
  }

  #end(reason: string, code: ErrorCode = 'unreachable'): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#timer.cancel();
    this.#socket?.terminate();
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    // The relay does not say which frame was too large: the largest was.
    const longest = Math.max(...pending.map(({ text }) => text.length));
    if (code === 'too-large' && pending.length > 0) this.#lessons.tooLarge(longest);
    for (const { text, fail } of pending) {
      if (code !== 'too-large') fail(endedError(reason, code));
      else fail(text.length === longest ? tooLarge(text) : endedError(reason, 'unreachable'));
    }
  }
}

function endedError(reason: string, code: ErrorCode): RelayError {
  return new RelayError(code, `The WebSocket to the relay ended: ${reason}.`);
}

function tooLarge(text: string): RelayError {
  return new RelayError('too-large', `A message of ${text.length} characters is too large for the WebSocket.`);
}

function parse(text: string): WireMessage | null {
  try {
    return JSON.parse(text) as WireMessage;
  } catch {
    return null;
  }
}
