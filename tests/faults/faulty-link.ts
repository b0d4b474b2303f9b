/** One connection through the fault proxy: two sockets, and what happens to the bytes between them. */
import { connect, type Socket } from 'node:net';
import type { Faults, Way } from './fault-proxy.ts';
import { resetSocket } from './reset-socket.ts';

const HTML_504 = '<html><head><title>504 Gateway Time-out</title></head><body><hr>fault proxy</body></html>';
const HTML_504_ANSWER = [
  'HTTP/1.1 504 Gateway Time-out',
  'Content-Type: text/html',
  `Content-Length: ${Buffer.byteLength(HTML_504)}`,
  'Connection: close',
  '',
  HTML_504,
].join('\r\n');

export interface LinkOptions {
  readonly faults: () => Faults;
  readonly random: () => number;
  readonly onMessageCut: (bytes: number) => void;
  readonly onClosed: () => void;
}

export class FaultyLink {
  readonly #options: LinkOptions;
  readonly #sockets: Readonly<Record<Way, Socket>>;
  readonly #passed: Record<Way, number> = { up: 0, down: 0 };
  /** The message that comes in now. An answer is held back while it may have to be cut or buffered. */
  #message: { way: Way; bytes: Buffer; passed: number } = { way: 'up', bytes: Buffer.alloc(0), passed: 0 };
  #upgraded = false;
  /** Nothing passes any more, and nobody is told. */
  #silent = false;
  #cutting = false;
  #answerTimer: NodeJS.Timeout | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  constructor(client: Socket, target: number, options: LinkOptions) {
    this.#options = options;
    const server = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    // Where bytes of each way go.
    this.#sockets = { up: server, down: client };
    this.#wire(client, 'up');
    this.#wire(server, 'down');
    this.#rest();
  }

  /** Ends the connection in the way that the faults say. */
  cut(): void {
    if (this.#silent || this.#cutting) return;
    const { cutBy = 'reset' } = this.#options.faults();
    if (cutBy === 'silence') {
      this.swallow();
      return;
    }
    this.#cutting = true;
    const { up: server, down: client } = this.#sockets;
    server.destroy();
    if (cutBy === 'reset') resetSocket(client);
    else if (cutBy === 'end') client.end(() => client.destroy());
    else client.end(HTML_504_ANSWER, () => client.destroy());
  }

  /** Nothing passes any more, and nobody is told. */
  swallow(): void {
    this.#silent = true;
    this.#stopTimers();
  }

  destroy(): void {
    this.#stopTimers();
    this.#sockets.up.destroy();
    this.#sockets.down.destroy();
  }

  #wire(source: Socket, way: Way): void {
    const sink = this.#sockets[way];
    source.setNoDelay(true);
    source.on('data', (chunk) => this.#arrived(way, chunk));
    source.on('end', () => {
      if (!this.#silent && !this.#cutting) this.#later(() => sink.end());
    });
    // A reset goes on as a reset.
    source.on('error', () => {
      if (!this.#silent && !this.#cutting) resetSocket(sink);
    });
    source.on('close', () => {
      this.#stopTimers();
      if (this.#silent) return;
      this.#later(() => {
        sink.destroy();
        this.#options.onClosed();
      });
    });
  }

  #arrived(way: Way, chunk: Buffer): void {
    const faults = this.#options.faults();
    if (faults.blackHole) this.#silent = true;
    if (this.#silent || this.#cutting) return;
    this.#time(way);
    this.#take(way, chunk);
    if (this.#upgraded && faults.swallowFrames && !isUpgradeHead(chunk)) return;
    const cut = faults.cutMessage;
    // An answer is looked at when it is complete; of a request the head is enough.
    const isKnown = way === 'up' || this.#isComplete();
    if (cut?.way === way && isKnown && this.#message.bytes.includes(cut.containing)) {
      this.#options.onMessageCut(this.#message.bytes.length);
      this.#forward(way, this.#message.bytes.subarray(this.#message.passed, cut.byte), true);
      return;
    }
    const holdsBack = way === 'down' && (faults.bufferAnswers || cut?.way === 'down');
    if (holdsBack && !this.#isComplete()) return;
    this.#forward(way, this.#takeRest(faults), false);
  }

  /** Adds to the message, which begins anew when the direction turns. A frame is a message of its own. */
  #take(way: Way, chunk: Buffer): void {
    const isNext = this.#message.way !== way || this.#upgraded;
    const bytes = isNext ? chunk : Buffer.concat([this.#message.bytes, chunk]);
    this.#message = { way, bytes, passed: isNext ? 0 : this.#message.passed };
    if (way === 'down' && isUpgradeHead(bytes)) this.#upgraded = true;
  }

  #takeRest(faults: Faults): Buffer {
    const { way, bytes, passed } = this.#message;
    this.#message.passed = bytes.length;
    const rest = bytes.subarray(passed);
    return way === 'up' && faults.stripUpgrade ? withoutUpgrade(rest) : rest;
  }

  #isComplete(): boolean {
    const { bytes } = this.#message;
    if (this.#upgraded) return isUpgradeHead(bytes) || !this.#options.faults().bufferAnswers;
    const headEnd = bytes.indexOf('\r\n\r\n');
    if (headEnd < 0) return false;
    const head = bytes.toString('latin1', 0, headEnd).toLowerCase();
    const length = /\r\ncontent-length: *(\d+)/.exec(head)?.[1];
    if (length !== undefined) return bytes.length >= headEnd + 4 + Number(length);
    return bytes.subarray(-5).toString('latin1') === '0\r\n\r\n' || !head.includes('transfer-encoding');
  }

  #forward(way: Way, bytes: Buffer, thenCut: boolean): void {
    const { cutAt } = this.#options.faults();
    const room = cutAt?.way === way ? Math.max(0, cutAt.byte - this.#passed[way]) : Number.POSITIVE_INFINITY;
    const part = bytes.subarray(0, room);
    const isCut = thenCut || bytes.length >= room;
    this.#passed[way] += part.length;
    if (isCut) this.#stopTimers();
    this.#later(() => {
      const sink = this.#sockets[way];
      if (sink.destroyed) return;
      if (part.length > 0) sink.write(part, () => isCut && this.cut());
      else if (isCut) this.cut();
    });
  }

  #later(run: () => void): void {
    const { delayMs = 0 } = this.#options.faults();
    if (delayMs > 0) setTimeout(run, delayMs);
    else run();
  }

  #time(way: Way): void {
    this.#rest();
    clearTimeout(this.#answerTimer);
    const { answerMs } = this.#options.faults();
    if (way === 'up' && answerMs !== undefined) this.#answerTimer = setTimeout(() => this.cut(), answerMs);
  }

  /** The time without a byte begins anew. */
  #rest(): void {
    clearTimeout(this.#idleTimer);
    const { idleMs, idleCloseMaxMs } = this.#options.faults();
    if (idleMs !== undefined) this.#idleTimer = setTimeout(() => this.cut(), idleMs);
    else if (idleCloseMaxMs !== undefined) {
      this.#idleTimer = setTimeout(() => this.#closeIdle(), this.#options.random() * idleCloseMaxMs);
    }
  }

  /** Between two requests only: what is open goes on. */
  #closeIdle(): void {
    if (this.#message.way === 'down') this.cut();
  }

  #stopTimers(): void {
    clearTimeout(this.#idleTimer);
    clearTimeout(this.#answerTimer);
  }
}

function isUpgradeHead(bytes: Buffer): boolean {
  return bytes.toString('latin1', 0, 12) === 'HTTP/1.1 101';
}

function withoutUpgrade(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1');
  if (!/^GET .*\r\nupgrade: websocket/is.test(text)) return bytes;
  const kept = text.split('\r\n').filter((line) => !/^(upgrade|connection|sec-websocket-[a-z]+):/i.test(line));
  return Buffer.from(kept.join('\r\n'), 'latin1');
}
