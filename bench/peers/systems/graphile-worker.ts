/** graphile-worker on PostgreSQL, woken by NOTIFY; its task notifies the caller of its result. */
import { Logger, makeWorkerUtils } from 'graphile-worker';
import { siblingModule } from '../../../protocol/host/sibling-module.ts';
import { payloadOf } from '../../pickup/subject.ts';
import type { Rig, Way } from '../rig.ts';
import { openPostgres, type PostgresPlace, poolOf } from './postgres.ts';

export const TASK = 'job';
export const SILENT = new Logger(() => () => {});

export interface GraphileTask extends PostgresPlace {
  readonly slots: number;
}

export async function start(rig: Rig): Promise<Way> {
  const place = await openPostgres(rig);
  const pgPool = poolOf(place.config, (error) => rig.broken(error));
  rig.defer(() => pgPool.end());
  const utils = await makeWorkerUtils({ pgPool, schema: place.schema, logger: SILENT });
  rig.defer(() => utils.release());
  await utils.migrate();
  const task: GraphileTask = { ...place, slots: rig.slots };
  await rig.worker(siblingModule('./graphile-worker-worker', import.meta.url), task);
  return { resultBy: 'NOTIFY', enqueue: async (job) => void (await utils.addJob(TASK, payloadOf(job))) };
}
