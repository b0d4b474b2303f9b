/** An example: somebody who asks twice, and takes one of the two back. Everything that differs from a single run is written out. */
import pickup from '../pickup.ts';
import type { Workload } from '../workload.ts';

export default {
  ...pickup,
  name: 'impatient',
  about: 'two runs within a quarter of a minute; every second run is cancelled 5 to 60 s after it was queued',
  starts: [
    { at_s: 0, count: 1 },
    { at_s: { uniform: [5, 15] }, count: 1 },
  ],
  run_s: { uniform: [20, 40] },
  cancel: { share: 0.5, after_s: { uniform: [5, 60] } },
  asking: [
    { name: 'wait_seconds 20', pauses_s: [1], wait_s: 20 },
    { name: 'every 2 s', pauses_s: [2], wait_s: 0 },
  ],
} satisfies Workload;
