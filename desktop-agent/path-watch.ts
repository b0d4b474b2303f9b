/**
 * Notices that the way to the relay may be another: the machine slept, its clock jumped, or its network changed.
 *
 * A machine that sleeps runs no timers, and its monotonic clock stands still on most systems while the wall clock goes
 * on. So the two are compared: when they drift apart by seconds between two looks, the connection is looked at anew.
 */
import type { Clock, Timer } from '../protocol/ports.ts';

/** A text that is another one in another network. */
export type PathProbe = () => string;

/** Between two looks. Longer: a new network is noticed later. Shorter: a laptop wakes its processor more often. */
const LOOK_MS = 10_000;
/** Clocks that drift apart by more than this between two looks have jumped. */
const JUMP_MS = 5_000;

export interface PathWatch {
  /** Looks now. True when the machine has slept since the last look, and its listener was told. */
  look(): boolean;
  stop(): void;
}

export function watchPath(
  clock: Clock,
  probe: PathProbe,
  onChange: (reason: 'woke' | 'network-changed') => void,
): PathWatch {
  let seen = { wall: clock.now(), monotonic: clock.monotonic(), network: probe() };
  let timer: Timer;
  const look = () => {
    timer.cancel();
    const now = { wall: clock.now(), monotonic: clock.monotonic(), network: probe() };
    const drift = Math.abs(now.wall - seen.wall - (now.monotonic - seen.monotonic));
    const late = now.monotonic - seen.monotonic > LOOK_MS + JUMP_MS;
    const woke = drift > JUMP_MS || late;
    const moved = now.network !== seen.network;
    seen = now;
    timer = clock.after(LOOK_MS, look);
    if (woke) onChange('woke');
    else if (moved) onChange('network-changed');
    return woke;
  };
  timer = clock.after(LOOK_MS, look);
  return { look, stop: () => timer.cancel() };
}
