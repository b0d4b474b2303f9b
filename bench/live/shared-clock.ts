/** A clock that all processes of this machine share, for instants that one of them takes and another compares. */
import { systemClock } from '../../protocol/host/system-ports.ts';
import type { Clock } from '../../protocol/ports.ts';
import { stampUs } from '../pickup/stamp.ts';

/** Monotonic milliseconds count from the same moment in each process. */
export const sharedClock: Clock = { ...systemClock, monotonic: () => stampUs() / 1_000 };
