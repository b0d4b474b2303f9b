/**
 * One WebSocket of a desktop: whether the other side still lives, and how the socket ends.
 *
 * Owns the silence that is allowed, the calls whose answers are still to be written, and the end: after those answers,
 * at once, or because nobody is there. Stands between the real socket and whoever serves its frames, so that nothing
 * is served any more once it is about to end. Must not know what is in a frame.
 */
import { EventEmitter } from 'node:events';
import type { Clock, Timer } from '../protocol/ports.ts';

/** What the relay needs of a socket: `ws` has it, and so has the simulation's. Emits `message`, `ping`, `pong`, `close`. */
export interface ServerSocket extends EventEmitter {
  readonly readyState: number;
  send(text: string): void;
  /** Asks for a sign of life below the frames: every WebSocket answers it, whatever program is behind. */
  ping(): void;
  close(code?: number, reason?: string): void;
  terminate(): void;
}

export interface SocketTimes {
  /** After this much silence a sign of life is asked for. */
  readonly socketSilenceMs: number;
  /** It must come within this. */
  readonly socketPongMs: number;
  /** Answers that are to be written get this long, and so does the closing handshake. */
  readonly socketCloseMs: number;
}

export interface DesktopSocketOptions {
  readonly socket: ServerSocket;
  readonly desktopId: string;
  readonly clock: Clock;
  readonly times: SocketTimes;
  /** Bytes that have come so far, where somebody counts them: a large frame is news long before it is complete. */
  readonly bytesRead?: () => number;
  /** It is about to be ended because nothing has been heard for `silentMs`. Called once, if ever. */
  readonly onSilent: (silentMs: number) => void;
}

export interface SocketEnd {
  readonly code: number;
  readonly reason: string;
}

const OPEN = 1;
const CLOSING = 2;

/** A sign of life was asked for: when, and how much had come by then. */
interface Asked {
  readonly at: number;
  readonly bytes: number | undefined;
}

/** A timer that fires this late was held up, by a sleep or a busy process, and so was the news that it waits for. */
const HELD_UP_MS = 1_000;

export class DesktopSocket extends EventEmitter {
  readonly desktopId: string;
  /** Resolves when the socket is gone. */
  readonly closed: Promise<void>;
  readonly #options: DesktopSocketOptions;
  readonly #pending = new Set<unknown>();
  /** The last sign of life, on the monotonic clock. */
  #heardAt: number;
  #watch: Timer;
  #deadline: Timer | null = null;
  /** Set once it takes no frames any more: how it ends as soon as its answers are written. */
  #ending: SocketEnd | null = null;
  #closeSent = false;
  #over = false;

  constructor(options: DesktopSocketOptions) {
    super();
    this.#options = options;
    this.desktopId = options.desktopId;
    const { socket, clock, times } = options;
    this.#heardAt = clock.monotonic();
    this.#watch = clock.after(times.socketSilenceMs, this.#look);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    socket.on('message', (data, isBinary) => {
      this.#heard();
      if (this.#ending === null) this.emit('message', data, isBinary);
    });
    socket.on('ping', this.#heard);
    socket.on('pong', this.#heard);
    // What went wrong is followed by the end, and nobody can do anything else about it.
    socket.on('error', () => {});
    socket.once('close', () => {
      this.#deadline?.cancel();
      this.#tellEnd();
      resolve();
    });
  }

  /** Not open once it is about to end, but for the answers that are still to be written. */
  get readyState(): number {
    return this.#over || this.#closeSent ? CLOSING : this.#options.socket.readyState;
  }

  /** A call has come in that an answer will be written to. */
  began(id: unknown): void {
    this.#pending.add(id);
  }

  /** The answer is the next text that is sent. */
  answered(id: unknown): void {
    this.#pending.delete(id);
  }

  send(text: string): void {
    if (this.readyState !== OPEN) return;
    this.#options.socket.send(text);
    this.#closeIfAnswered();
  }

  /** For whoever serves the frames, when it cannot. */
  close(code = 1_000, reason = ''): void {
    this.end({ code, reason });
  }

  /** Takes no frames from now on, and ends when the answers to those before are written. Resolves when it is gone. */
  finish(end: SocketEnd): Promise<void> {
    if (this.#ending === null && !this.#over) {
      this.#ending = end;
      this.#watch.cancel();
      const { clock, times } = this.#options;
      this.#deadline = clock.after(times.socketCloseMs, () => this.#sendClose(end));
      this.#closeIfAnswered();
    }
    return this.closed;
  }

  /** Ends it at once, with all its calls: whoever is behind it may not come in any more. */
  end(end: SocketEnd): void {
    if (this.#over) return;
    this.#ending = end;
    this.#sendClose(end);
    this.#tellEnd();
  }

  #closeIfAnswered(): void {
    if (this.#ending !== null && this.#pending.size === 0) this.#sendClose(this.#ending);
  }

  /** The other side confirms the end, or is not waited for. */
  #sendClose({ code, reason }: SocketEnd): void {
    if (this.#closeSent) return;
    this.#closeSent = true;
    this.#watch.cancel();
    this.#deadline?.cancel();
    const { socket, clock, times } = this.#options;
    this.#deadline = clock.after(times.socketCloseMs, () => socket.terminate());
    socket.close(code, reason);
  }

  readonly #heard = (): void => {
    this.#heardAt = this.#options.clock.monotonic();
  };

  /** A timer is a hint: what counts is when something was heard. */
  readonly #look = (): void => {
    const { clock, times, socket, bytesRead } = this.#options;
    const now = clock.monotonic();
    const leftMs = times.socketSilenceMs - (now - this.#heardAt);
    const asked = { at: now, bytes: bytesRead?.() };
    // Sums of instants are not exact: a rest of less than this is none.
    if (leftMs >= 1) {
      this.#watch = clock.after(leftMs, this.#look);
      return;
    }
    this.#watch = clock.after(times.socketPongMs, () => this.#judge(asked));
    socket.ping();
  };

  #judge(asked: Asked): void {
    const { clock, times, socket, bytesRead, onSilent } = this.#options;
    const now = clock.monotonic();
    // A part of a large frame holds up the answer, and is one.
    if (bytesRead?.() !== asked.bytes) this.#heard();
    const isHeldUp = now - asked.at > times.socketPongMs + HELD_UP_MS;
    if (this.#heardAt >= asked.at || isHeldUp) {
      this.#look();
      return;
    }
    onSilent(now - this.#heardAt);
    socket.terminate();
  }

  /** Whoever serves the frames hears of the end once, and does not wait for the closing handshake. */
  #tellEnd(): void {
    if (this.#over) return;
    this.#over = true;
    this.#watch.cancel();
    this.emit('close');
  }
}
