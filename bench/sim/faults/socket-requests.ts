/**
 * Which requests are open on one WebSocket, as seen at the relay's end of it.
 *
 * Owns what is known of frames there: a call has an id and a path, its answer has the same id. Changes nothing.
 */
import type { CallKind, History } from '../history.ts';

interface Frame {
  readonly id?: number | string | null;
  readonly params?: { readonly path?: string };
}

export class SocketRequests {
  readonly #history: History;
  readonly #desktop: string;
  readonly #open = new Map<unknown, { readonly call: CallKind; readonly id: number }>();

  constructor(history: History, desktop: string) {
    this.#history = history;
    this.#desktop = desktop;
  }

  /** A frame has reached the relay. */
  received(text: string): void {
    const frame = parsed(text);
    const call = frame?.params?.path?.replace('relay.', '') as CallKind | undefined;
    if (frame === null || call === undefined) return;
    const request = { call, id: this.#history.nextId() };
    this.#open.set(frame.id, request);
    this.#history.add({ type: 'request-opened', desktop: this.#desktop, ...request });
  }

  /** The relay sends a frame. */
  sent(text: string): void {
    const id = parsed(text)?.id;
    const request = this.#open.get(id);
    if (request === undefined) return;
    this.#open.delete(id);
    this.#history.add({ type: 'request-closed', desktop: this.#desktop, ...request });
  }

  /** The relay knows that the connection is over, or is over itself. */
  ended(): void {
    for (const request of this.#open.values()) {
      this.#history.add({ type: 'request-closed', desktop: this.#desktop, ...request });
    }
    this.#open.clear();
  }
}

/** Signs of life are bare words. */
function parsed(text: string): Frame | null {
  return text.startsWith('{') ? (JSON.parse(text) as Frame) : null;
}
