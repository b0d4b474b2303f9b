/** A desktop that is away. */
import pickup from './pickup.ts';
import type { Workload } from './workload.ts';

export default {
  ...pickup,
  name: 'offline',
  about: 'five runs while the desktop has no network for 600 s',
  starts: [{ at_s: 0, count: 5 }],
  offline_s: 600,
} satisfies Workload;
