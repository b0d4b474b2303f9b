/** A pause that nobody ends. Quicker than one that somebody may: no signal is listened to, and most of a client's time is this. */
import type { Clock } from '../../protocol/ports.ts';

export function sleepFor(clock: Clock, ms: number): Promise<void> {
  return new Promise((resume) => void clock.after(ms, resume));
}
