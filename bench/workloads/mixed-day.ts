/** Eight hours of somebody who uses it: single runs now and then, a few fan-outs, some changes of mind. */
import pickup from './pickup.ts';
import type { Workload } from './workload.ts';

const HOURS_8: [number, number] = [0, 8 * 3_600];

export default {
  ...pickup,
  name: 'mixed-day',
  about: '8 hours with 16 single runs and two fan-outs of 3 at random moments; one run in ten is cancelled',
  starts: [
    ...Array.from({ length: 16 }, () => ({ at_s: { uniform: HOURS_8 }, count: 1 })),
    ...Array.from({ length: 2 }, () => ({ at_s: { uniform: HOURS_8 }, count: 3 })),
  ],
  cancel: { share: 0.1, after_s: { uniform: [0, 40] } },
} satisfies Workload;
