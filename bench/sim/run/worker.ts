/** A worker thread of the simulation: runs its seeds and says what they came to. */
import { parentPort, workerData } from 'node:worker_threads';
import { runPart } from './batch.ts';

// Errors are everyday life here, and nobody reads where they were made. Collecting that costs a tenth of the time.
Error.stackTraceLimit = 0;

parentPort!.postMessage(await runPart(workerData as Parameters<typeof runPart>[0]));
