/**
 * What each run's agent was told of it last, so that an answer without news costs its model few tokens.
 *
 * In memory: after a restart of the relay each run is told once more in full. Owns nothing that anything depends on.
 */
import { hasEnded } from '../../protocol/command-machine.ts';
import type { OwnerAsked, RunView } from '../agent-api.ts';

/** A run whose state is as it was told last. */
export interface UnchangedRun {
  readonly status: RunView['status'];
  readonly unchanged: true;
  /** Since it was queued, or started. */
  readonly for_seconds: number;
  /** Left out once it has started. */
  readonly ahead?: number;
  readonly check_after_seconds: number | null;
}

export class LastTold {
  /** By command, the one that was told longest ago first. */
  readonly #told = new Map<string, { readonly state: string; readonly asked: OwnerAsked | null }>();
  readonly #remembered: number;

  /** `remembered`: of how many runs. One that is forgotten is told in full. */
  constructor(remembered: number) {
    this.#remembered = remembered;
  }

  /** What its agent knows that the run's owner is asked; null for nothing. */
  question(commandId: string): OwnerAsked | null {
    return this.#told.get(commandId)?.asked ?? null;
  }

  /** Notes that this is told now. True when it is news. */
  tell(run: RunView): boolean {
    const { command_id, status, awaiting_approval, cancel_requested, ahead, desktop } = run;
    const before = this.#told.get(command_id)?.state;
    this.#told.delete(command_id);
    // An ended run is always told in full: that is what its agent waits for.
    if (hasEnded(status)) return true;
    const state = JSON.stringify([status, awaiting_approval, cancel_requested, ahead, desktop.online, desktop.asleep]);
    this.#told.set(command_id, { state, asked: awaiting_approval ?? null });
    if (this.#told.size > this.#remembered) this.#told.delete(this.#told.keys().next().value!);
    return state !== before;
  }
}

export function unchangedRun({ status, timing, ahead, check_after_seconds }: RunView, now: number): UnchangedRun {
  const since = Date.parse(timing.started_at ?? timing.queued_at);
  const for_seconds = Math.max(0, Math.round((now - since) / 1_000));
  return { status, unchanged: true, for_seconds, ...(ahead === null ? {} : { ahead }), check_after_seconds };
}
