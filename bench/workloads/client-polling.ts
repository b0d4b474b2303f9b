/** What asking costs: each way of the post, and waiting, on the same runs. */
import { PUBLISHED_STRATEGIES, WAITING } from '../asking.ts';
import pickup from './pickup.ts';
import type { Workload } from './workload.ts';

export default {
  ...pickup,
  name: 'client-polling',
  about: 'one run, watched by clients that ask in different ways',
  asking: [...PUBLISHED_STRATEGIES, WAITING],
} satisfies Workload;
