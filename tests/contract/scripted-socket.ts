/**
 * The relay's end of a WebSocket whose other end is the test: it says what comes, and sees what goes out, in order.
 *
 * Owns no time and no desktop.
 */
import { EventEmitter } from 'node:events';
import type { ServerSocket } from '../../server/desktop-sockets.ts';

const OPEN = 1;
const CLOSING = 2;
const CLOSED = 3;

export interface SentAnswer {
  readonly id: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes.
  readonly result?: { readonly data: any };
  readonly error?: { readonly data: { readonly relayCode: string } };
}

export class ScriptedServerSocket extends EventEmitter implements ServerSocket {
  readyState = OPEN;
  /** What the relay did: `sent 1`, `PONG`, `ping`, `close 1012`, `terminate`. */
  readonly did: string[] = [];
  readonly answers: SentAnswer[] = [];
  /** Whether the other side answers pings by itself, as every WebSocket does. */
  answersPings: boolean;
  /** Whether it confirms the end. */
  confirmsEnd: boolean;

  constructor(behaviour: { answersPings?: boolean; confirmsEnd?: boolean } = {}) {
    super();
    this.answersPings = behaviour.answersPings ?? true;
    this.confirmsEnd = behaviour.confirmsEnd ?? true;
  }

  send(text: string): void {
    if (text === 'PONG') {
      this.did.push(text);
      return;
    }
    const answer = JSON.parse(text) as SentAnswer;
    this.answers.push(answer);
    this.did.push(`sent ${answer.id}`);
  }

  ping(): void {
    this.did.push('ping');
    if (this.answersPings) this.emit('pong');
  }

  close(code?: number): void {
    this.did.push(`close ${code}`);
    this.readyState = CLOSING;
    if (this.confirmsEnd) this.#gone();
  }

  terminate(): void {
    this.did.push('terminate');
    this.#gone();
  }

  /** A call of the desktop. */
  call(id: number, path: 'sync' | 'control' | 'complete' | 'probe', input: object): void {
    this.says({ id, method: 'mutation', params: { path: `relay.${path}`, input } });
  }

  /** Any frame. */
  says(frame: unknown): void {
    this.emit('message', Buffer.from(typeof frame === 'string' ? frame : JSON.stringify(frame)), false);
  }

  #gone(): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSED;
    this.emit('close');
  }
}
