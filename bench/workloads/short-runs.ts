/** What fits into a bench over real sockets: seconds, not minutes. */
import pickup from './pickup.ts';
import type { Workload } from './workload.ts';

export default {
  ...pickup,
  name: 'short-runs',
  about: 'two runs in one moment, each 0.5 to 2 s long, one after another',
  starts: [{ at_s: 0, count: 2 }],
  run_s: { uniform: [0.5, 2] },
} satisfies Workload;
