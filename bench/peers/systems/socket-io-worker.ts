/** The worker of Socket.IO. */
import { announceWorker, endWith, take } from '../../pickup/worker-side.ts';
import { connectAs, type SocketIoTask } from './socket-io.ts';

const socket = connectAs('worker', JSON.parse(process.argv[2] ?? '{}') as Required<SocketIoTask>);
socket.on('job', (job) => void socket.emit('result', take(job)));
socket.on('disconnect', endWith);
socket.once('connect', () => announceWorker({}));
