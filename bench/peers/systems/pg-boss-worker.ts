/** The worker of pg-boss: it takes as many jobs at once as there are, up to its slots. */
import { PgBoss } from 'pg-boss';
import type { Payload } from '../../pickup/subject.ts';
import { announceWorker, endWith, take } from '../../pickup/worker-side.ts';
import { type PgBossTask, QUEUE } from './pg-boss.ts';
import { poolOf, RESULTS } from './postgres.ts';

const { config, slots } = JSON.parse(process.argv[2] ?? '{}') as PgBossTask;
const pool = poolOf({ ...config, max: 2 }, endWith);
const boss = new PgBoss({ ...config, useListenNotify: true });
boss.on('error', endWith);
await boss.start();
await boss.work<Payload>(QUEUE, { batchSize: slots }, async (jobs) => {
  const ids = jobs.map(({ data }) => take(data));
  await pool.query('select pg_notify($1, id) from unnest($2::text[]) as id', [RESULTS, ids]);
});
announceWorker({});
