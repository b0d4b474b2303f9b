/** The worker of graphile-worker. */
import { run } from 'graphile-worker';
import type { Payload } from '../../pickup/subject.ts';
import { announceWorker, endWith, take } from '../../pickup/worker-side.ts';
import { type GraphileTask, SILENT, TASK } from './graphile-worker.ts';
import { poolOf } from './postgres.ts';

const { config, schema, slots } = JSON.parse(process.argv[2] ?? '{}') as GraphileTask;
const runner = await run({
  pgPool: poolOf(config, endWith),
  schema,
  concurrency: slots,
  noHandleSignals: true,
  parsedCronItems: [],
  logger: SILENT,
  taskList: {
    async [TASK](payload, { query }) {
      await query('select pg_notify($1, $2)', [schema, take(payload as Payload)]);
    },
  },
});
announceWorker({});
await runner.promise;
process.exit(1);
