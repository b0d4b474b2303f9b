/**
 * How a command line talks to the running process of the same user: HTTP over a Unix socket (a named pipe on Windows),
 * never over TCP.
 *
 * Owns the socket's place and rights, and both ends' plumbing. What is said over it is up to the callers.
 */
import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, rm } from 'node:fs/promises';
import { createServer, request, type Server } from 'node:http';
import { connect } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import { ExitError } from './exit-codes.ts';

/** The longest path that every system takes for a Unix socket (macOS: 104 bytes with the final NUL). */
const SOCKET_PATH_BYTES = 100;

/**
 * Where the sockets of data folders with longer paths are. Not what the environment calls its folder for temporary files:
 * that may be as long, and the shell of a command line may name another one than a service was started with.
 */
const SHORT_PLACE = '/tmp/graph-relay-';

/** Where the socket of the process on this data folder is. Both ends compute it, so nothing has to be looked up. */
export function localSocketPath(dataDirectory: string): string {
  const directory = resolve(dataDirectory);
  const name = createHash('sha256').update(directory).digest('hex').slice(0, 16);
  if (process.platform === 'win32') return `\\\\.\\pipe\\graph-relay-${name}`;
  const inside = join(directory, 'control.sock');
  return Buffer.byteLength(inside) <= SOCKET_PATH_BYTES ? inside : join(SHORT_PLACE + name, 'control.sock');
}

/** Serves the handler on the socket. The caller holds the data folder's lock, so a file that is there is a leftover. */
export async function serveLocal(path: string, handler: (request: Request) => Promise<Response>): Promise<Server> {
  if (process.platform !== 'win32') {
    await makeFolder(path);
    await rm(path, { force: true });
  }
  const server = createServer(getRequestListener(handler, { overrideGlobalObjects: false }));
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(path, done);
  });
  if (process.platform !== 'win32') await chmod(path, 0o600);
  return server;
}

async function makeFolder(path: string): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
    if (!isInShortPlace(path)) throw error;
    throw noPlace(folder, `it cannot be made (${error.code})`);
  });
  await refuseStrangers(path);
  if (isInShortPlace(path)) await chmod(folder, 0o700);
}

/**
 * Anybody may make a folder in the short place. Whoever made it could put a socket of theirs there, and hear what an owner
 * asks and answer in the relay's name.
 */
async function refuseStrangers(path: string): Promise<void> {
  if (!isInShortPlace(path)) return;
  const folder = dirname(path);
  const found = await lstat(folder);
  if (found.isDirectory() && found.uid === process.getuid?.()) return;
  throw noPlace(folder, 'it is not a folder of yours');
}

function isInShortPlace(path: string): boolean {
  return path.startsWith(SHORT_PLACE);
}

function noPlace(folder: string, why: string): ExitError {
  return new ExitError(
    'no-local-socket',
    `The path of the data folder is too long for a socket, so ${folder} is used for that, but ${why}. Choose a data folder with a shorter path (--data or GRAPH_RELAY_DATA).`,
  );
}

/** Whether a process answers on this socket now. */
export function isServed(path: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      done(true);
    });
    socket.once('error', () => done(false));
  });
}

/** True when nobody listens there: the process is not running. */
export function isNotRunning(error: unknown): boolean {
  let inner = error;
  while (inner instanceof Error) {
    const code = (inner as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return true;
    inner = inner.cause;
  }
  return false;
}

/** A `fetch` that goes to the socket, whatever host the address names. */
export function localFetch(path: string) {
  return async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const asked = new Request(input, init);
    const body = Buffer.from(await asked.arrayBuffer());
    const url = new URL(asked.url);
    await refuseStrangers(path);
    const headers = { ...Object.fromEntries(asked.headers), 'content-length': String(body.length) };
    return new Promise((answered, failed) => {
      const outgoing = request(
        { socketPath: path, path: url.pathname + url.search, method: asked.method, headers, agent: false },
        (incoming) => {
          const answerHeaders = new Headers();
          for (const [name, value] of Object.entries(incoming.headers)) {
            if (value !== undefined) answerHeaders.set(name, Array.isArray(value) ? value.join(', ') : value);
          }
          const stream = Readable.toWeb(incoming) as ReadableStream<Uint8Array>;
          answered(new Response(stream, { status: incoming.statusCode ?? 500, headers: answerHeaders }));
        },
      );
      outgoing.on('error', failed);
      asked.signal.addEventListener('abort', () => outgoing.destroy(), { once: true });
      outgoing.end(body);
    });
  };
}
