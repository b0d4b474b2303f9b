/** One run, asked for at a random moment. */
import { WAITING } from '../asking.ts';
import { PUBLISHED_RUN_TIME } from '../draws.ts';
import type { Workload } from './workload.ts';

export default {
  name: 'pickup',
  about: 'one run at a random moment',
  starts: [{ at_s: 0, count: 1 }],
  run_s: PUBLISHED_RUN_TIME,
  stop_s: 0.5,
  slots: 1,
  cancel: null,
  offline_s: 0,
  asking: [WAITING],
} satisfies Workload;
