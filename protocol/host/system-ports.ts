/**
 * The real clock, chance and identities. The only file that reaches for them; everything else takes the ports.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock, Ids, Random } from '../ports.ts';

/** Node's timers hold 31 bits of milliseconds; a longer delay would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, run) {
    const due = performance.now() + delayMs;
    let timer: NodeJS.Timeout;
    const arm = () => {
      const remaining = Math.max(0, due - performance.now());
      timer = setTimeout(remaining > LONGEST_TIMER_MS ? arm : run, Math.min(remaining, LONGEST_TIMER_MS));
    };
    arm();
    return { cancel: () => clearTimeout(timer) };
  },
};

export const systemRandom: Random = { next: () => Math.random() };

export const systemIds: Ids = {
  uuid: () => randomUUID(),
  hex: (bytes) => randomBytes(bytes).toString('hex'),
};
