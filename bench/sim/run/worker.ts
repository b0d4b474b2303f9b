/** A worker thread of the simulation: runs its seeds and says what they came to. */
import { parentPort, workerData } from 'node:worker_threads';
import { runPart } from './batch.ts';

parentPort!.postMessage(await runPart(workerData as Parameters<typeof runPart>[0]));
