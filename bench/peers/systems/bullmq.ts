/** BullMQ on a Redis of its own, with an append-only file: synced before each answer, or once a second. */
import { Queue, QueueEvents } from 'bullmq';
import { siblingModule } from '../../../protocol/host/sibling-module.ts';
import { payloadOf } from '../../pickup/subject.ts';
import type { Rig, Way } from '../rig.ts';

export const QUEUE = 'jobs';

export interface BullTask {
  readonly port: number;
  readonly slots: number;
}

export async function start(rig: Rig): Promise<Way> {
  const appendfsync = rig.setting.durable ? 'always' : 'everysec';
  const redis = await rig.broker('redis-server', ({ port, folder }) => [
    ...['--bind', '127.0.0.1', '--port', String(port), '--dir', folder],
    ...['--appendonly', 'yes', '--appendfsync', appendfsync, '--save', ''],
  ]);
  const task: BullTask = { port: redis.port, slots: rig.slots };
  await rig.worker(siblingModule('./bullmq-worker', import.meta.url), task);
  const connection = { host: '127.0.0.1', port: redis.port };
  const queue = new Queue(QUEUE, { connection });
  rig.defer(() => queue.close());
  // From the first event on: it begins to listen a while after it says that it is ready.
  const events = new QueueEvents(QUEUE, { connection, lastEventId: '0-0' });
  rig.defer(() => events.close());
  queue.on('error', (error) => rig.broken(error));
  events.on('error', (error) => rig.broken(error));
  events.on('completed', ({ jobId }) => rig.result(jobId));
  await Promise.all([queue.waitUntilReady(), events.waitUntilReady()]);
  return {
    resultBy: 'QueueEvents',
    enqueue: async (job) => void (await queue.add('job', payloadOf(job), { jobId: job.id, removeOnComplete: true })),
  };
}
