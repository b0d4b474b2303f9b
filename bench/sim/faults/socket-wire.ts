/**
 * WebSockets over a network with weather: refused, silent, lost on one side or on both.
 *
 * Owns the two ends of each connection and the order of frames, which holds as on any TCP connection. Knows nothing of
 * what is in a frame; `socket-requests.ts` does.
 */
import { EventEmitter } from 'node:events';
import type { OpenSocket, SocketEvents } from '../../../desktop-agent/dialer/socket-link.ts';
import type { ErrorCode, RelayError } from '../../../protocol/errors.ts';
import type { Random } from '../../../protocol/ports.ts';
import type { ServerSocket } from '../../../server/desktop-sockets.ts';
import type { History } from '../history.ts';
import type { Life } from '../hosts/machine.ts';
import type { VirtualClock } from '../virtual-clock.ts';
import { Dice } from './dice.ts';
import { SocketRequests } from './socket-requests.ts';
import { type Sky, wayMs } from './weather.ts';
import type { Site } from './wire.ts';

const OPEN = 1;
const CLOSED = 3;
/** Sorts behind every frame: a connection ends after what was sent over it. */
const LAST = '\uffff';
/** Below the frames, and before those of the same instant. */
const PING = '';

export interface SocketWireOptions {
  readonly clock: VirtualClock;
  readonly history: History;
  readonly sky: Sky;
  readonly site: Site & {
    /** Why the relay that serves grants no upgrade to a request with these headers; null when it does. */
    refusal(headers: Headers): RelayError | null;
    /** Takes over a socket whose upgrade was granted. */
    accept(socket: ServerSocket): void;
  };
  readonly caller: string;
  /** Chance for the next connection: one of its own for each, so that none shifts another's dice. */
  readonly newRandom: () => Random;
}

type Headers = Readonly<Record<string, string>>;

/** How a process opens WebSockets. */
export function socketsOver(options: SocketWireOptions, life: Life): OpenSocket {
  return (_url, headers, events) => {
    const connection = new SimulatedConnection(options, { life, headers, events });
    return { send: (text) => connection.sendToRelay(text), terminate: () => connection.desktopEnds() };
  };
}

class SimulatedConnection {
  readonly #options: SocketWireOptions;
  readonly #life: Life;
  readonly #headers: Headers;
  readonly #events: SocketEvents;
  readonly #dice: Dice;
  readonly #toRelay: OrderedWire;
  readonly #toDesktop: OrderedWire;
  readonly #server: ServerEnd;
  /** Whether the two ends are told of each other's end. */
  readonly #endsSilently: boolean;
  /** From here on nothing gets through, in either direction or in one: bytes that are missing hold up all that follow. */
  #dead = false;
  #deadToRelay = false;
  #deadToDesktop = false;
  #desktopKnows = false;

  constructor(options: SocketWireOptions, given: { life: Life; headers: Headers; events: SocketEvents }) {
    this.#options = options;
    this.#life = given.life;
    this.#headers = given.headers;
    this.#events = given.events;
    const { clock, sky, history } = options;
    this.#dice = new Dice(options.newRandom());
    this.#endsSilently = this.#dice.chance(sky.weather.silent);
    const lifeShare = this.#dice.between(0.5, 1.5);
    const delay = () => wayMs(this.#dice, sky.weather);
    this.#toRelay = new OrderedWire(clock, delay);
    this.#toDesktop = new OrderedWire(clock, delay);
    this.#server = new ServerEnd({
      send: (text) => this.#sendToDesktop(text),
      ping: () => this.#pingDesktop(),
      ended: (reason) => this.#relayEnds(reason),
      requests: new SocketRequests(history, options.caller),
    });
    given.life.onEnd(() => this.desktopEnds());
    this.#toRelay.send('', () => this.#upgrade());
    const { socketLifeMs } = sky.weather;
    if (socketLifeMs !== null) {
      clock.after(socketLifeMs * lifeShare, () => {
        if (this.#dead || this.#desktopKnows) return;
        history.countFault(this.#endsSilently ? 'socket goes silent' : 'socket lost');
        this.#lose();
      });
    }
  }

  sendToRelay(text: string): void {
    this.#deadToRelay ||= this.#isSwallowed(this.#options.sky.weather.loseRequest);
    if (this.#deadToRelay) return;
    this.#toRelay.send(text, () => {
      if (!this.#dead) this.#server.receive(text);
    });
  }

  /** The desktop gives it up, or its process ends. */
  desktopEnds(): void {
    if (this.#desktopKnows) return;
    this.#desktopKnows = true;
    this.#toRelay.send(LAST, () => {
      if (!this.#endsSilently && !this.#deadToRelay) this.#server.lost();
    });
  }

  #upgrade(): void {
    const { site, history, caller, sky } = this.#options;
    const server = site.life();
    history.tell(caller, 'socket arrives');
    if (this.#desktopKnows) return;
    if (sky.weather.sockets === 'refused' || server === null) {
      if (server !== null) history.countFault('socket refused');
      this.#toDesktop.send(LAST, () => this.#closeAtDesktop('the upgrade was refused'));
      return;
    }
    const refusal = site.refusal(this.#headers);
    if (refusal !== null) {
      this.#toDesktop.send(LAST, () => this.#closeAtDesktop('the upgrade was answered with a refusal', refusal.code));
      return;
    }
    server.onEnd(() => this.#relayDied());
    this.#toDesktop.send('', () => this.#atDesktop(() => this.#events.onOpen()));
    if (sky.weather.sockets === 'swallowed') {
      history.countFault('socket frames swallowed');
      this.#toDesktop.send('', () => {
        this.#dead = true;
      });
    }
    site.accept(this.#server);
  }

  #sendToDesktop(text: string): void {
    this.#deadToDesktop ||= this.#isSwallowed(this.#options.sky.weather.loseAnswer);
    if (this.#deadToDesktop) return;
    this.#toDesktop.send(text, () => {
      if (this.#dead) return;
      this.#options.history.tell(this.#options.caller, 'socket frame');
      this.#atDesktop(() => this.#events.onMessage(text));
    });
  }

  /** A WebSocket answers by itself, but not while its machine sleeps. */
  #pingDesktop(): void {
    if (this.#deadToDesktop) return;
    this.#toDesktop.send(PING, () => {
      if (this.#dead) return;
      this.#options.history.tell(this.#options.caller, 'socket ping');
      this.#atDesktop(() => {
        if (this.#deadToRelay) return;
        this.#toRelay.send(PING, () => {
          if (!this.#dead) this.#server.emit('pong');
        });
      });
    });
  }

  /** Now and then a frame is sent again, and nobody notices. Where all are lost, the connection is as good as dead. */
  #isSwallowed(lost: number): boolean {
    if (lost < 1) return false;
    this.#options.history.countFault('socket swallowed');
    return true;
  }

  #relayEnds(reason: string): void {
    this.#toDesktop.send(LAST, () => {
      if (!this.#dead && !this.#deadToDesktop) this.#closeAtDesktop(reason);
    });
  }

  #relayDied(): void {
    this.#server.forget();
    if (this.#endsSilently || this.#deadToDesktop) return;
    this.#toDesktop.send(LAST, () => this.#closeAtDesktop('the connection was reset'));
  }

  /** Somewhere in between the connection is gone: both ends hear of it, or neither. */
  #lose(): void {
    this.#dead = true;
    if (this.#endsSilently) return;
    this.#server.lost();
    this.#closeAtDesktop('the connection was lost');
  }

  #closeAtDesktop(reason: string, code?: ErrorCode): void {
    this.#atDesktop(() => {
      if (this.#desktopKnows) return;
      this.#desktopKnows = true;
      this.#options.history.tell(this.#options.caller, `socket closed: ${reason}`);
      this.#events.onClose(reason, code);
    });
  }

  #atDesktop(run: () => void): void {
    this.#life.machine.whenAwake(() => {
      if (this.#life.alive && !this.#desktopKnows) run();
    });
  }
}

/**
 * Delivers in order: nothing overtakes what was sent before it. What was sent in the same instant is sorted by its text:
 * which of two answers a relay wrote first within one turn is chance, and the two paths of a simulation differ in it.
 */
class OrderedWire {
  readonly #clock: VirtualClock;
  readonly #delayMs: () => number;
  #lastAt = 0;
  #outgoing: { readonly text: string; readonly deliver: () => void }[] = [];

  constructor(clock: VirtualClock, delayMs: () => number) {
    this.#clock = clock;
    this.#delayMs = delayMs;
  }

  send(text: string, deliver: () => void): void {
    if (this.#outgoing.push({ text, deliver }) === 1) this.#clock.after(0, () => this.#flush());
  }

  #flush(): void {
    const outgoing = this.#outgoing.sort((a, b) => (a.text < b.text ? -1 : 1));
    this.#outgoing = [];
    for (const { deliver } of outgoing) {
      this.#lastAt = Math.max(this.#lastAt, this.#clock.monotonic() + this.#delayMs());
      this.#clock.after(this.#lastAt - this.#clock.monotonic(), deliver);
    }
  }
}

interface ServerEndOptions {
  readonly send: (text: string) => void;
  readonly ping: () => void;
  readonly ended: (reason: string) => void;
  readonly requests: SocketRequests;
}

class ServerEnd extends EventEmitter implements ServerSocket {
  readyState = OPEN;
  readonly #options: ServerEndOptions;

  constructor(options: ServerEndOptions) {
    super();
    this.#options = options;
  }

  ping(): void {
    if (this.readyState === OPEN) this.#options.ping();
  }

  send(text: string): void {
    if (this.readyState !== OPEN) return;
    this.#options.requests.sent(text);
    this.#options.send(text);
  }

  receive(text: string): void {
    if (this.readyState !== OPEN) return;
    this.#options.requests.received(text);
    this.emit('message', Buffer.from(text), false);
  }

  close(code = 1000, reason = ''): void {
    if (this.readyState !== OPEN) return;
    this.#options.ended(reason || `closed with code ${code}`);
    this.lost();
  }

  terminate(): void {
    this.close(1006);
  }

  /** The other side is gone. */
  lost(): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSED;
    this.#options.requests.ended();
    this.emit('close');
  }

  /** The process that had it was killed: nobody is left to be told. */
  forget(): void {
    this.readyState = CLOSED;
    this.#options.requests.ended();
    this.removeAllListeners();
  }
}
