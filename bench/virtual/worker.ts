/** A thread of the bench: does one piece of work after another. */
import { parentPort } from 'node:worker_threads';
import { type Answer, runTask, type Task } from './pool.ts';

// Errors are everyday life here, and nobody reads where they were made. Collecting that costs a tenth of the time.
Error.stackTraceLimit = 0;

parentPort!.on('message', async (task: Task) => {
  let answer: Answer;
  try {
    answer = { result: await runTask(task) };
  } catch (error) {
    answer = { failure: `${task.name}: ${error instanceof Error ? error.message : String(error)}` };
  }
  parentPort!.postMessage(answer);
});
