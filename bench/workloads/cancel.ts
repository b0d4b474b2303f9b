/** A client that changes its mind. */
import pickup from './pickup.ts';
import type { Workload } from './workload.ts';

export default {
  ...pickup,
  name: 'cancel',
  about: 'one run, cancelled 0 to 40 s after it was queued; the engine needs 0.5 s to stop',
  cancel: { share: 1, after_s: { uniform: [0, 40] } },
} satisfies Workload;
