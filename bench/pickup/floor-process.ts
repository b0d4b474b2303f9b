/**
 * The floor: what a bare held answer of node:http costs, without queue, disk or contract.
 *
 * As `server` it answers the request that is held with whatever is posted; as `worker` it keeps one request held and
 * notes when each answer is there.
 */
import { Agent, createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { stampUs } from './stamp.ts';

const [role, port] = process.argv.slice(2);
if (role === 'server') serve();
else work(Number(port));
process.on('disconnect', () => process.exit());

function serve(): void {
  let held: ServerResponse | null = null;
  const server = createServer((incoming, response) => {
    if (incoming.method === 'GET') {
      held = response;
      return;
    }
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk) => chunks.push(chunk));
    incoming.on('end', () => {
      held?.end(Buffer.concat(chunks));
      held = null;
      response.end('{}');
    });
  });
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
}

function work(at: number): void {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const hold = () => {
    request({ host: '127.0.0.1', port: at, path: '/', agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => {
        const { id } = JSON.parse(Buffer.concat(chunks).toString()) as { id: string };
        process.send?.({ id, atUs: stampUs() });
        hold();
      });
    }).end();
  };
  hold();
}
