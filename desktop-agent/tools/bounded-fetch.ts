/**
 * `fetch` for a tool server over HTTP: an answer that is too long, or that breaks off, ends the connection.
 *
 * Owns nothing else: the official client would read on to the end, and wait for a call whose stream has broken until its
 * time is over.
 */
import type { FetchLike } from '@modelcontextprotocol/client';

export interface BoundedFetchOptions {
  readonly maxBytes: number;
  /** Called with why nothing more comes, for a person. */
  readonly onBroken: (reason: string) => void;
}

export function boundedFetch({ maxBytes, onBroken }: BoundedFetchOptions): FetchLike {
  return async (input, init) => {
    const response = await fetch(input, init);
    // The stream that is asked for by GET lasts as long as the connection, and may break and be asked for again.
    if (response.body === null || init?.method !== 'POST') return response;
    const body = bounded(response.body, { maxBytes, onBroken });
    const { status, statusText, headers, url } = response;
    return Object.defineProperty(new Response(body, { status, statusText, headers }), 'url', { value: url });
  };
}

function bounded(body: ReadableStream<Uint8Array>, options: BoundedFetchOptions): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let bytes = 0;
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        bytes += value.length;
        if (bytes > options.maxBytes) throw new RangeError(`answered with more than ${options.maxBytes} bytes`);
        controller.enqueue(value);
      } catch (error) {
        options.onBroken(error instanceof RangeError ? error.message : 'broke off the connection');
        controller.error(error);
        reader.cancel().catch(() => {});
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
