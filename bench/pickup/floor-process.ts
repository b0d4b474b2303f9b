/**
 * The floor: what a bare held answer of node:http costs, without queue on disk, tokens or contract.
 *
 * As `server` it answers the request that is held on a path with whatever is posted to that path; what nobody waits
 * for yet waits in memory. As `worker` it keeps one request held, notes when each job is there, and posts its result.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FLOOR_PATHS, type FloorReady } from './floor.ts';
import { keepHeld, poster } from './http-caller.ts';
import { announceWorker, endWith, take } from './worker-side.ts';

const [role, port] = process.argv.slice(2);
if (role === 'server') serve();
else work(Number(port));

interface Mailbox {
  held: ServerResponse | null;
  readonly waiting: Buffer[];
}

function serve(): void {
  const mailboxes = new Map<string, Mailbox>(Object.values(FLOOR_PATHS).map((path) => [path, emptyMailbox()]));
  const server = createServer((incoming, response) => {
    const mailbox = mailboxes.get(incoming.url ?? '') ?? emptyMailbox();
    if (incoming.method === 'GET') {
      const next = mailbox.waiting.shift();
      if (next === undefined) mailbox.held = response;
      else response.end(next);
      return;
    }
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk) => chunks.push(chunk));
    incoming.on('end', () => {
      if (mailbox.held === null) mailbox.waiting.push(Buffer.concat(chunks));
      else mailbox.held.end(Buffer.concat(chunks));
      mailbox.held = null;
      response.end('{}');
    });
  });
  server.listen(0, '127.0.0.1', () => {
    announceWorker({ port: (server.address() as AddressInfo).port } satisfies FloorReady);
  });
}

function emptyMailbox(): Mailbox {
  return { held: null, waiting: [] };
}

function work(at: number): void {
  const place = { host: '127.0.0.1', port: at };
  const post = poster(place);
  keepHeld(
    { ...place, path: FLOOR_PATHS.jobs },
    {
      onAnswer(text) {
        const id = take(JSON.parse(text));
        post(FLOOR_PATHS.results, {}, { id }).catch(endWith);
      },
      onGone: endWith,
    },
  );
  announceWorker({});
}
