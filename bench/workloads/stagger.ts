/** A client that thinks between its starts. */
import pickup from './pickup.ts';
import type { Workload } from './workload.ts';

export default {
  ...pickup,
  name: 'stagger',
  about: 'five runs, 30 s apart',
  starts: [0, 30, 60, 90, 120].map((at_s) => ({ at_s, count: 1 })),
} satisfies Workload;
