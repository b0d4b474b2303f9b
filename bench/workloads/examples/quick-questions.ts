/** An example that is short enough for real time: the same file goes with `compare` and with `live`. */
import pickup from '../pickup.ts';
import type { Workload } from '../workload.ts';

export default {
  ...pickup,
  name: 'quick-questions',
  about: 'three questions about 4 s apart, each answered in 0.2 to 1.5 s',
  starts: [0, 4, 8].map((at_s) => ({ at_s, count: 1 })),
  run_s: { uniform: [0.2, 1.5] },
} satisfies Workload;
