/** The server of Socket.IO: says that it has a job, passes it on, and passes the result back. It keeps nothing. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server, type Socket } from 'socket.io';
import { announceWorker } from '../../pickup/worker-side.ts';
import type { Role, SocketIoReady, SocketIoTask } from './socket-io.ts';

const { transport } = JSON.parse(process.argv[2] ?? '{}') as SocketIoTask;
const http = createServer();
const io = new Server(http, { transports: [transport] });
const sockets: Partial<Record<Role, Socket>> = {};
io.on('connection', (socket) => {
  sockets[socket.handshake.auth.role as Role] = socket;
  socket.on('job', (job: unknown, acknowledge: () => void) => {
    sockets.worker?.emit('job', job);
    acknowledge();
  });
  socket.on('result', (id: string) => sockets.caller?.emit('result', id));
});
http.listen(0, '127.0.0.1', () => {
  announceWorker({ port: (http.address() as AddressInfo).port } satisfies SocketIoReady);
});
