/** The worker of beanstalkd: one connection, on which result, delete and the next reserve are sent together. */
import { announceWorker, endWith, take } from '../../pickup/worker-side.ts';
import { BeanstalkClient } from './beanstalk-client.ts';
import { type BeanstalkTask, TUBES } from './beanstalkd.ts';

const { port } = JSON.parse(process.argv[2] ?? '{}') as BeanstalkTask;
const client = await BeanstalkClient.connect(port, endWith);
await client.use(TUBES.results);
await client.watchOnly(TUBES.jobs);
announceWorker({});
work().catch(endWith);

async function work(): Promise<void> {
  for (;;) {
    const { id, body } = await client.reserve();
    client.put(take(JSON.parse(body))).catch(endWith);
    client.delete(id).catch(endWith);
  }
}
