/**
 * HTTP clients as thin as possible, the same for the floor and for ours: bare node:http with kept connections.
 */
import { Agent, type RequestOptions, request } from 'node:http';

export interface HttpPlace {
  readonly host: string;
  readonly port: number;
}

export type Post = (path: string, headers: Record<string, string>, body: object) => Promise<string>;

/** As many connections as there are requests at once; a lone caller keeps using one. */
export function poster(at: HttpPlace): Post {
  const agent = new Agent({ keepAlive: true });
  return async (path, headers, body) => {
    const text = JSON.stringify(body);
    const length = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    const options = { ...at, path, method: 'POST', agent, headers: { ...headers, ...length } };
    const { status, answer } = await exchange(options, text);
    if (status >= 300) throw new Error(`POST ${path} was answered with status ${status}: ${answer}`);
    return answer;
  };
}

/** Keeps one request held, and hands on each answer. `onGone` hears why when there is no further one. */
export function keepHeld(
  at: HttpPlace & { readonly path: string },
  hear: { onAnswer(answer: string): void; onGone(error: Error): void },
): void {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const hold = () => {
    exchange({ ...at, agent }).then(({ answer }) => {
      hear.onAnswer(answer);
      hold();
    }, hear.onGone);
  };
  hold();
}

/**
 * A server closes a connection that was idle for seconds, and may do so in the instant in which it is used again: then
 * it has seen nothing of the request, which is sent once more.
 */
function exchange(options: RequestOptions, body?: string): Promise<{ status: number; answer: string }> {
  return new Promise((done, failed) => {
    const outgoing = request(options, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk) => chunks.push(chunk));
      incoming.on('error', failed);
      incoming.on('end', () => done({ status: incoming.statusCode ?? 0, answer: Buffer.concat(chunks).toString() }));
    });
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      const wasClosed = outgoing.reusedSocket && error.code === 'ECONNRESET';
      if (wasClosed) exchange(options, body).then(done, failed);
      else failed(error);
    });
    outgoing.end(body);
  });
}
