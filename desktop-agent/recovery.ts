/**
 * What becomes of the executions that the process before this one began and did not end.
 *
 * The journal has them from the moment of the ack, so it does not say whether they ran. The relay does: it writes down
 * that an execution may run before it says so. What it allowed ends as failed and is never run again, since nobody
 * knows how far it came; what it did not is forgotten, and runs when it is offered again.
 */
import { Backoff } from '../protocol/backoff.ts';
import { asRelayError } from '../protocol/errors.ts';
import type { Ports } from '../protocol/ports.ts';
import type { StopReason } from '../protocol/schemas.ts';
import { RESTARTED_DURING_RUN } from '../protocol/texts.ts';
import { pause } from '../protocol/waiting.ts';
import { cancelledOutcome, type ExecutionIds, type ExecutionJournal, failedOutcome } from './execution-journal.ts';
import type { Outbox } from './outbox.ts';
import type { Dialer, RunOutcome } from './ports.ts';
import { STOPPED_TEXTS } from './stop-texts.ts';

export interface RecoveryOptions {
  readonly ports: Ports;
  readonly journal: ExecutionJournal;
  readonly outbox: Outbox;
  readonly dialer: Dialer;
  /** An execution has got its end. */
  readonly onSettled: (ids: ExecutionIds, outcome: RunOutcome) => void;
  /** An execution was forgotten: the relay may offer its command again, if it hears of that. */
  readonly onForgotten: () => void;
}

/** What the relay's answer makes of an execution: its end, `forgotten`, or `replaced` when it is not ours to settle. */
type Verdict = RunOutcome | 'forgotten' | 'replaced';

export class Recovery {
  readonly #options: RecoveryOptions;
  readonly #stopped = new AbortController();
  #begun = false;

  constructor(options: RecoveryOptions) {
    this.#options = options;
  }

  /** Settles what is in doubt, once. To be called when the relay knows this instance, and not before: see `#ask`. */
  begin(epoch: number): void {
    if (this.#begun) return;
    this.#begun = true;
    for (const ids of this.#options.journal.inDoubt()) void this.#settle(ids, epoch);
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #settle(ids: ExecutionIds, epoch: number): Promise<void> {
    const { ports, journal, outbox, onForgotten } = this.#options;
    const verdict = await this.#ask(ids, epoch);
    if (verdict === null || verdict === 'replaced') return;
    const logged = { command_id: ids.commandId, execution_id: ids.executionId };
    if (verdict === 'forgotten') {
      ports.log.info('run.never-started', logged);
      journal.forget(ids.commandId);
      onForgotten();
      return;
    }
    ports.log.warn('run.interrupted', logged);
    this.#options.onSettled(ids, verdict);
    const row = await journal.finish(ids, verdict);
    await outbox.post(row, undefined);
  }

  /**
   * Asked until there is an answer; null when this desktop stops before. An ack of the process before this one may
   * still be on its way, but it carries an older epoch than the one that the relay has given out by now.
   */
  async #ask({ commandId, executionId }: ExecutionIds, epoch: number): Promise<Verdict | null> {
    const { ports, dialer } = this.#options;
    const { signal } = this.#stopped;
    const backoff = new Backoff(ports.random);
    const question = { command_id: commandId, execution_id: executionId, phase: 'running', hold_ms: 0, epoch } as const;
    while (!signal.aborted) {
      try {
        const { cancel, reason } = await dialer.control(question, { signal });
        return cancel ? verdictOf(reason ?? 'ended') : failedOutcome(RESTARTED_DURING_RUN);
      } catch (error) {
        const { code, retry, message } = asRelayError(error);
        ports.log.warn('recovery.failed', { command_id: commandId, code, reason: message });
        if (retry === 'never') return failedOutcome(RESTARTED_DURING_RUN);
        await pause(ports.clock, backoff.next(), signal);
      }
    }
    return null;
  }
}

function verdictOf(reason: StopReason): Verdict {
  const stopped = STOPPED_TEXTS[reason];
  if (stopped !== undefined) return cancelledOutcome(stopped);
  return reason === 'session-replaced' ? 'replaced' : 'forgotten';
}
