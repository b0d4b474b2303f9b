/** pg-boss on PostgreSQL with its listener, which wakes the worker sooner than its polls; the worker notifies results. */
import { PgBoss } from 'pg-boss';
import { siblingModule } from '../../../protocol/host/sibling-module.ts';
import { payloadOf } from '../../pickup/subject.ts';
import type { Rig, Way } from '../rig.ts';
import { type DatabaseConfig, openDatabase } from './postgres.ts';

export const QUEUE = 'jobs';

export interface PgBossTask {
  readonly config: DatabaseConfig;
  readonly slots: number;
}

export async function start(rig: Rig): Promise<Way> {
  const config = await openDatabase(rig);
  const boss = new PgBoss({ ...config, supervise: false, schedule: false });
  boss.on('error', (error) => rig.broken(error));
  await boss.start();
  rig.defer(() => boss.stop({ graceful: false }));
  await boss.createQueue(QUEUE, { notify: true });
  const task: PgBossTask = { config, slots: rig.slots };
  await rig.worker(siblingModule('./pg-boss-worker', import.meta.url), task);
  return { resultBy: 'NOTIFY', enqueue: async (job) => void (await boss.send(QUEUE, payloadOf(job))) };
}
