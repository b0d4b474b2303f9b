/** graphile-worker on PostgreSQL, woken by NOTIFY; its task notifies the caller of its result. */
import { Logger, makeWorkerUtils } from 'graphile-worker';
import { siblingModule } from '../../../protocol/host/sibling-module.ts';
import { payloadOf } from '../../pickup/subject.ts';
import type { Rig, Way } from '../rig.ts';
import { type DatabaseConfig, openDatabase, POOL, poolOf } from './postgres.ts';

export const TASK = 'job';
/** Errors only, and to standard error: what a process says last is shown when it ends. */
export const ERRORS_ONLY = new Logger(() => (level, message) => {
  if (level === 'error') process.stderr.write(`${message}\n`);
});

export interface GraphileTask {
  readonly config: DatabaseConfig;
  /** Jobs at once. Each takes a connection, so its own advice is two connections more than this. */
  readonly slots: number;
}

export async function start(rig: Rig): Promise<Way> {
  const config = await openDatabase(rig);
  const pgPool = poolOf(config, (error) => rig.broken(error));
  rig.defer(() => pgPool.end());
  const utils = await makeWorkerUtils({ pgPool, logger: ERRORS_ONLY });
  rig.defer(() => utils.release());
  await utils.migrate();
  const task: GraphileTask = { config: { ...config, max: POOL + 2 }, slots: Math.min(rig.slots, POOL) };
  await rig.worker(siblingModule('./graphile-worker-worker', import.meta.url), task);
  return { resultBy: 'NOTIFY', enqueue: async (job) => void (await utils.addJob(TASK, payloadOf(job))) };
}
