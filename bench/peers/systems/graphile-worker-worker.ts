/** The worker of graphile-worker. */
import { run } from 'graphile-worker';
import type { Payload } from '../../pickup/subject.ts';
import { announceWorker, endWith, take } from '../../pickup/worker-side.ts';
import { ERRORS_ONLY, type GraphileTask, TASK } from './graphile-worker.ts';
import { poolOf, RESULTS } from './postgres.ts';

const { config, slots } = JSON.parse(process.argv[2] ?? '{}') as GraphileTask;
const runner = await run({
  pgPool: poolOf(config, endWith),
  concurrency: slots,
  noHandleSignals: true,
  parsedCronItems: [],
  logger: ERRORS_ONLY,
  taskList: {
    async [TASK](payload, { query }) {
      await query('select pg_notify($1, $2)', [RESULTS, take(payload as Payload)]);
    },
  },
});
announceWorker({});
await runner.promise.catch(endWith);
endWith('The runner stopped.');
