/** Socket.IO: a server that passes jobs to the worker and results to the caller, over polling or a WebSocket. */
import { io } from 'socket.io-client';
import { siblingModule } from '../../../protocol/host/sibling-module.ts';
import { payloadOf } from '../../pickup/subject.ts';
import type { Rig, Way } from '../rig.ts';

export type Role = 'caller' | 'worker';

export interface SocketIoTask {
  readonly transport: 'polling' | 'websocket';
  /** Left out for the server. */
  readonly port?: number;
}

export interface SocketIoReady {
  readonly port: number;
}

/** The client of both, which stays on one transport. */
export function connectAs(role: Role, { transport, port }: Required<SocketIoTask>) {
  return io(`http://127.0.0.1:${port}`, { transports: [transport], upgrade: false, auth: { role } });
}

export async function start(rig: Rig): Promise<Way> {
  const transport = rig.setting.name as SocketIoTask['transport'];
  const server = siblingModule('./socket-io-server', import.meta.url);
  const { port } = await rig.process<SocketIoReady>(server, { transport } satisfies SocketIoTask);
  const task = { transport, port };
  await rig.worker(siblingModule('./socket-io-worker', import.meta.url), task);
  const socket = connectAs('caller', task);
  rig.defer(() => socket.disconnect());
  socket.on('result', (id: string) => rig.result(id));
  socket.on('disconnect', (reason) => rig.broken(new Error(`Socket.IO was disconnected: ${reason}`)));
  await new Promise<void>((done, failed) => socket.once('connect', done).once('connect_error', failed));
  return {
    resultBy: 'an event',
    enqueue: async (job) => void (await socket.emitWithAck('job', payloadOf(job))),
  };
}
