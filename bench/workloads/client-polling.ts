/** What asking costs: each way of the post, waiting, and doing as one is told, on the same runs. */
import { STRATEGIES } from '../asking.ts';
import pickup from './pickup.ts';
import type { Workload } from './workload.ts';

export default {
  ...pickup,
  name: 'client-polling',
  about: 'one run, watched by clients that ask in different ways',
  asking: [...STRATEGIES],
} satisfies Workload;
