/**
 * A TCP proxy with the faults of real ones, on a free port of this machine.
 *
 * Owns the connections between a client and the target. Knows just enough of HTTP to tell where a message ends and
 * whether it was an upgrade. Faults may be changed while it runs: the next byte meets the new ones.
 */

import type { AddressInfo, Socket } from 'node:net';
import { createServer, type Server } from 'node:net';
import { seededRandom } from '../../bench/sim/seeded.ts';
import { FaultyLink } from './faulty-link.ts';
import { resetSocket } from './reset-socket.ts';

export type Way = 'up' | 'down';

export interface Faults {
  /** Every chunk is this late, in both directions. */
  readonly delayMs?: number;
  /** The connection ends after so many bytes of one direction, counted from its start. */
  readonly cutAt?: { readonly way: Way; readonly byte: number };
  /** The first message that contains the text is cut after so many of its bytes. Met once, for all connections. */
  readonly cutMessage?: { readonly way: Way; readonly containing: string; readonly byte: number };
  /** The connection ends when a request has not been answered with any byte for so long. */
  readonly answerMs?: number;
  /** The connection ends when nothing has gone either way for so long. */
  readonly idleMs?: number;
  /** How the connection ends: `silence` sends nothing, not even a FIN; a 504 needs an open request. */
  readonly cutBy?: 'reset' | 'end' | 'silence' | 'html-504';
  /** Bytes go nowhere, in both directions, and nobody is told. */
  readonly blackHole?: boolean;
  /** An answer is passed on when it is complete. */
  readonly bufferAnswers?: boolean;
  /** Upgrade headers are left out, as a proxy does that was not told of them. */
  readonly stripUpgrade?: boolean;
  /** An upgrade is passed on, and nothing after it. */
  readonly swallowFrames?: boolean;
  /** New connections are reset. */
  readonly refuse?: boolean;
  /** Idle connections are closed after a random time below this. */
  readonly idleCloseMaxMs?: number;
}

export interface FaultProxy {
  readonly port: number;
  readonly url: string;
  faults: Faults;
  /** Connections that were made so far, and those that are open. */
  readonly made: number;
  readonly open: number;
  /** Messages that {@link Faults.cutMessage} has cut. */
  readonly messagesCut: number;
  /** Bytes that had come of the last of them; all, when it came the other way than a request. */
  readonly lastMessageCut: number;
  /** What is open now is a black hole from here on; new connections are not. */
  swallowOpen(): void;
  /** Ends what is open, as `cutBy` says or by a reset. */
  cutAll(): void;
  close(): Promise<void>;
}

export async function startFaultProxy(options: {
  target: number;
  faults?: Faults;
  seed?: number;
}): Promise<FaultProxy> {
  const proxy = new TcpProxy(options.target, options.faults ?? {}, options.seed ?? 1);
  await proxy.listen();
  return proxy;
}

class TcpProxy implements FaultProxy {
  faults: Faults;
  made = 0;
  messagesCut = 0;
  lastMessageCut = 0;
  readonly #links = new Set<FaultyLink>();
  readonly #server: Server;
  readonly #random;

  constructor(target: number, faults: Faults, seed: number) {
    this.faults = faults;
    this.#random = seededRandom(seed);
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client, target));
  }

  listen(): Promise<void> {
    return new Promise((done) => this.#server.listen(0, '127.0.0.1', done));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get open(): number {
    return this.#links.size;
  }

  swallowOpen(): void {
    for (const link of this.#links) link.swallow();
  }

  cutAll(): void {
    for (const link of this.#links) link.cut();
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((done) => this.#server.close(() => done()));
    for (const link of this.#links) link.destroy();
    await closed;
  }

  #accept(client: Socket, target: number): void {
    this.made++;
    if (this.faults.refuse) {
      client.on('error', () => {});
      resetSocket(client);
      return;
    }
    const link = new FaultyLink(client, target, {
      faults: () => this.faults,
      random: () => this.#random.next(),
      onMessageCut: (bytes) => {
        this.messagesCut++;
        this.lastMessageCut = bytes;
        const { cutMessage: _met, ...others } = this.faults;
        this.faults = others;
      },
      onClosed: () => this.#links.delete(link),
    });
    this.#links.add(link);
  }
}
