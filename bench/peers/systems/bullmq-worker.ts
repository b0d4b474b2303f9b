/** The worker of BullMQ. */
import { Worker } from 'bullmq';
import { announceWorker, endWith, take } from '../../pickup/worker-side.ts';
import { type BullTask, QUEUE } from './bullmq.ts';

const { port, slots } = JSON.parse(process.argv[2] ?? '{}') as BullTask;
const worker = new Worker(QUEUE, async ({ data }) => take(data), {
  connection: { host: '127.0.0.1', port },
  concurrency: slots,
});
worker.on('error', endWith);
await worker.waitUntilReady();
announceWorker({});
