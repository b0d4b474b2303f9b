/** beanstalkd: in memory, or with its log synced at each write. The result comes back through a second tube. */
import { siblingModule } from '../../../protocol/host/sibling-module.ts';
import { payloadOf } from '../../pickup/subject.ts';
import type { Rig, Way } from '../rig.ts';
import { BeanstalkClient } from './beanstalk-client.ts';

export const TUBES = { jobs: 'jobs', results: 'results' } as const;

export interface BeanstalkTask {
  readonly port: number;
}

export async function start(rig: Rig): Promise<Way> {
  const { port } = await rig.broker('beanstalkd', ({ port, folder }) => [
    ...['-l', '127.0.0.1', '-p', String(port)],
    ...(rig.setting.durable ? ['-b', folder, '-f0'] : []),
  ]);
  await rig.worker(siblingModule('./beanstalkd-worker', import.meta.url), { port } satisfies BeanstalkTask);
  const jobs = await BeanstalkClient.connect(port, (error) => rig.broken(error));
  rig.defer(() => jobs.close());
  await jobs.use(TUBES.jobs);
  const results = await BeanstalkClient.connect(port, (error) => rig.broken(error));
  rig.defer(() => results.close());
  await results.watchOnly(TUBES.results);
  const hear = async () => {
    for (;;) {
      const { id, body } = await results.reserve();
      rig.result(body);
      results.delete(id).catch((error) => rig.broken(error));
    }
  };
  hear().catch((error) => rig.broken(error));
  return { resultBy: 'a second tube', enqueue: (job) => jobs.put(JSON.stringify(payloadOf(job))) };
}
