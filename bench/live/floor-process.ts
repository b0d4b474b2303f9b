/**
 * The floor's two other processes. As `server` it answers the request that is held with whatever is posted; as `worker` it
 * keeps one request held and tells when each answer was there.
 */
import { Agent, createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { stampUs } from '../pickup/stamp.ts';

const [role, port] = process.argv.slice(2);
if (role === 'server') serve();
else work(Number(port));
process.once('disconnect', () => process.exit());

function serve(): void {
  let held: ServerResponse | null = null;
  let body: Buffer | null = null;
  const answer = () => {
    if (held === null || body === null) return;
    held.end(body);
    [held, body] = [null, null];
  };
  const server = createServer((incoming, response) => {
    if (incoming.method === 'GET') {
      held = response;
      // What was posted while nobody was held waits for the next one.
      answer();
      return;
    }
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk) => chunks.push(chunk));
    incoming.on('end', () => {
      body = Buffer.concat(chunks);
      answer();
      response.end('{}');
    });
  });
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
}

function work(at: number): void {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const hold = () => {
    request({ host: '127.0.0.1', port: at, path: '/', agent }, (response) => {
      response.resume();
      response.on('end', () => {
        process.send?.({ atUs: stampUs() });
        hold();
      });
    }).end();
  };
  hold();
}
