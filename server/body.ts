/**
 * Request bodies, bounded. Bytes are joined first and decoded once, so a character that is split between two chunks
 * stays whole.
 */
import { RelayError } from '../protocol/errors.ts';

/**
 * The whole body. Rejects with `too-large` as soon as more than `maxBytes` have come in; the rest is not read.
 */
export async function readBody(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  refuseDeclaredLength(request, maxBytes);
  if (request.body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of untilBroken(request.body)) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  const whole = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return whole;
}

/**
 * A request whose body cannot be larger than `maxBytes`: the same one when its length is declared (the HTTP server
 * holds the sender to it), otherwise one with the body read.
 */
export async function boundedRequest(request: Request, maxBytes: number): Promise<Request> {
  if (request.headers.has('content-length')) {
    refuseDeclaredLength(request, maxBytes);
    return request;
  }
  if (request.body === null) return request;
  const body = await readBody(request, maxBytes);
  return new Request(request.url, { method: request.method, headers: request.headers, body, signal: request.signal });
}

/** A body that breaks off is the sender's affair, and no fault of ours. */
async function* untilBroken(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw new RelayError('invalid-input', 'The request body broke off before its end. Send it again.', {
      cause: error,
    });
  }
}

function refuseDeclaredLength(request: Request, maxBytes: number): void {
  const declared = Number(request.headers.get('content-length') ?? 0);
  if (declared > maxBytes) throw tooLarge(maxBytes);
}

function tooLarge(maxBytes: number): RelayError {
  return new RelayError(
    'too-large',
    `The request body is larger than ${maxBytes} bytes, so it was not read. Send less.`,
  );
}
