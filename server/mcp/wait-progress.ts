/**
 * News for a caller that waits for a run: how long it has waited, of how long, and what the run does.
 *
 * Owns when something is said: at once, then at a steady pace until it is stopped. Must not know how news travel, and
 * must not hold up or break the wait that they are about.
 */
import { hasEnded } from '../../protocol/command-machine.ts';
import { PROGRESS_MS } from '../../protocol/limits.ts';
import type { Clock, Timer } from '../../protocol/ports.ts';
import type { RunView } from '../agent-api.ts';
import { stateText } from './answer-text.ts';

export interface Progress {
  /** Seconds that were waited. */
  readonly progress: number;
  /** Seconds that will be waited at most. */
  readonly total: number;
  readonly message: string;
}

export interface WaitProgressOptions {
  readonly clock: Clock;
  /** Seconds that the wait may take. */
  readonly total: number;
  /** Aborted when the caller has gone away. */
  readonly signal: AbortSignal;
  /** The run as it is now. */
  readonly look: () => Promise<RunView>;
  readonly tell: (progress: Progress) => void;
}

/** Begins now. `stop` when the wait is over: nothing is told after its answer. */
export function startProgress(options: WaitProgressOptions): { stop(): void } {
  const { clock, total, signal } = options;
  const startedAt = clock.monotonic();
  let timer: Timer | null = null;
  let stopped = false;

  async function say(): Promise<void> {
    const run = await options.look();
    // While the look was on its way, the wait may have ended.
    if (stopped || signal.aborted || hasEnded(run.status)) return;
    const waited = Math.round((clock.monotonic() - startedAt) / 1_000);
    options.tell({ progress: Math.min(waited, total), total, message: stateText(run, clock.now()) });
    timer = clock.after(PROGRESS_MS, begin);
  }

  // A run that cannot be looked at fails its wait too, and that answer says why.
  const begin = () => void say().catch(() => {});

  begin();
  return {
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}
