/** N runs in one moment: `fanout-5` and its like. */
import pickup from './pickup.ts';
import type { Workload } from './workload.ts';

export function fanout(count: number, slots = 1): Workload {
  const atOnce = slots === 1 ? 'one after another' : `${slots} at once`;
  return {
    ...pickup,
    name: slots === 1 ? `fanout-${count}` : `fanout-${count}-slots-${slots}`,
    about: `${count} runs in one moment; the desktop runs them ${atOnce}`,
    starts: [{ at_s: 0, count }],
    slots,
    ...(slots === 1 ? {} : { drawn_as: `fanout-${count}` }),
  };
}
