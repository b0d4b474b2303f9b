/**
 * Takes offered commands and runs them, one after another unless the owner allows more at once.
 *
 * Owns the order of the steps that make a command run at most once: journal and ack side by side, consent, run, then
 * the end and its outbox entry in one write, then the post.
 */
import { Backoff } from '../protocol/backoff.ts';
import { asRelayError } from '../protocol/errors.ts';
import { runChannel } from '../protocol/ids.ts';
import { DEADLINE_MARGIN_MS } from '../protocol/limits.ts';
import type { Ports } from '../protocol/ports.ts';
import type { ControlAnswer, OfferedCommand, StopReason } from '../protocol/schemas.ts';
import { NOT_SHARED } from '../protocol/texts.ts';
import { abortedLater, pause, stopwatch } from '../protocol/waiting.ts';
import { cancelledOutcome, type ExecutionIds, type ExecutionJournal, failedOutcome } from './execution-journal.ts';
import type { GraphLibrary } from './graph-library.ts';
import { capacityIn, type RelayMode } from './modes.ts';
import type { Outbox } from './outbox.ts';
import type { Dialer, Engine, RunningGraph, RunOutcome } from './ports.ts';
import { askControl, RunControl } from './run-control.ts';
import type { GraphEvent } from './run-events.ts';
import type { Sharing } from './sharing.ts';
import { STOPPED_TEXTS } from './stop-texts.ts';

export interface RunnerOptions {
  readonly ports: Ports;
  readonly journal: ExecutionJournal;
  readonly dialer: Dialer;
  readonly engine: Engine;
  readonly library: GraphLibrary;
  readonly sharing: Sharing;
  readonly outbox: Outbox;
  /** How work is asked for at this moment. */
  readonly mode: () => RelayMode;
  /** Runs at once; 0 while the owner lets nothing new begin. */
  readonly slots: () => number;
  /** The epoch that the relay gave to this instance; undefined before the first sync. */
  readonly epoch: () => number | undefined;
  /** A slot became free, and the held sync does not know. */
  readonly onSlotFreed: () => void;
  /** The held sync was told of so many free slots by a completion. */
  readonly onCapacityTold: (capacity: number) => void;
  readonly onEvent: (commandId: string, event: GraphEvent) => void;
}

/**
 * How long the relay's word that a command may run is good for, from the question on: as long as the call may take.
 * Shorter: a slow link asks twice. Longer: what was cancelled while the machine slept runs when it wakes.
 */
const WORD_MS = 2 * DEADLINE_MARGIN_MS;

/** How long the answer to an ack is waited for when the desktop stops. Longer: stopping takes as long as a dead relay. */
const ACK_GRACE_MS = 1_000;

interface Run {
  readonly command: OfferedCommand;
  readonly executionId: string;
  /** Milliseconds since the relay was last asked whether it may start. */
  sinceAsked: () => number;
}

export class Runner {
  readonly #options: RunnerOptions;
  /** Accepted, and not begun. */
  readonly #waiting: OfferedCommand[] = [];
  /** Begun, and the outcome not written down yet. */
  readonly #active = new Map<string, RunningGraph | null>();
  readonly #stopping = new AbortController();
  readonly #idle: (() => void)[] = [];
  /** Why nothing begins any more; null while it may. */
  #cancelled: string | null = null;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** Everything the relay may have offered to this desktop and that is not settled. */
  holding(): string[] {
    const undelivered = this.#options.outbox.pending().map((row) => row.commandId);
    const inDoubt = this.#options.journal.inDoubt().map((row) => row.commandId);
    const accepted = [...this.#waiting.map((c) => c.command_id), ...this.#active.keys()];
    return [...new Set([...accepted, ...undelivered, ...inDoubt])];
  }

  freeSlots(): number {
    if (this.#stopping.signal.aborted) return 0;
    return Math.max(0, this.#options.slots() - this.#active.size - this.#waiting.length);
  }

  get activeRuns(): number {
    return this.#active.size;
  }

  accept(commands: readonly OfferedCommand[]): void {
    for (const command of commands) {
      const { command_id } = command;
      const isHere = this.#active.has(command_id) || this.#waiting.some((c) => c.command_id === command_id);
      if (isHere || this.#options.journal.has(command_id))
        this.#options.ports.log.info('command.offered-again', { command_id });
      else this.#waiting.push(command);
    }
    this.#pump();
  }

  /** Resolves when nothing is waiting or running. */
  idle(): Promise<void> {
    if (this.#active.size === 0 && this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Begins nothing new. */
  stopTaking(): void {
    this.#stopping.abort();
    this.giveBack();
  }

  /** What was accepted and not begun goes back to the relay, which offers it again later. */
  giveBack(): void {
    this.#waiting.length = 0;
    this.#settleIdle();
  }

  /** Also what has the relay's word and has not begun: it would begin after everybody was told that nothing runs. */
  cancelAll(reason: string): void {
    this.#cancelled = reason;
    for (const running of this.#active.values()) running?.cancel(reason);
  }

  #pump(): void {
    while (this.#active.size < this.#options.slots() && !this.#stopping.signal.aborted) {
      const command = this.#waiting.shift();
      if (command === undefined) break;
      this.#active.set(command.command_id, null);
      void this.#perform({ command, executionId: this.#options.ports.ids.uuid(), sinceAsked: () => 0 });
    }
    this.#settleIdle();
  }

  #settleIdle(): void {
    if (this.#active.size > 0 || this.#waiting.length > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  async #perform(run: Run): Promise<void> {
    const { ports } = this.#options;
    const ids = { command_id: run.command.command_id, execution_id: run.executionId };
    let outcome: RunOutcome | StopReason | 'in-doubt';
    try {
      outcome = await this.#outcomeOf(run);
    } catch (error) {
      // Whatever went wrong here, the run has an end, and the caller hears of it.
      ports.log.error('run.fault', { ...ids, err: error });
      outcome = failedOutcome(`The desktop could not run the Graph: ${asRelayError(error).message}`);
    }
    if (typeof outcome === 'string') {
      ports.log.info('run.not-started', { ...ids, reason: outcome });
      this.#notStarted(run, outcome);
    } else {
      ports.log.info('run.ended', { ...ids, status: outcome.status, total_tokens: outcome.totalTokens });
      await this.#finish(run, outcome);
    }
  }

  /** How the run ended, or why it was not begun; `in-doubt` when the relay's word is not known. */
  async #outcomeOf(run: Run): Promise<RunOutcome | StopReason | 'in-doubt'> {
    const { command } = run;
    const { sharing, journal } = this.#options;
    if (!sharing.allows(command)) return cancelledOutcome(NOT_SHARED);
    const begun = journal.begin(idsOf(run));
    let graph: { name: string; source: string } | null;
    do {
      const [answer] = await Promise.all([this.#askToStart(run), begun]);
      if (answer === null) return 'in-doubt';
      // The relay may have started it for an ack whose answer was lost. Then it waits to hear that the run has stopped.
      const stop = answer.cancel ? STOPPED_TEXTS[answer.reason ?? 'ended'] : undefined;
      if (stop !== undefined) return cancelledOutcome(stop);
      if (answer.cancel) return answer.reason ?? 'ended';
      graph = await this.#options.library.load(command.graph_session_id);
      // A machine that slept meanwhile wakes up with a word that may have been taken back long ago.
    } while (run.sinceAsked() > WORD_MS);
    // The last look at consent: nothing is awaited between here and the start.
    if (!sharing.allows(command) || graph === null) return cancelledOutcome(NOT_SHARED);
    if (this.#cancelled !== null) return cancelledOutcome(this.#cancelled);
    return this.#runGraph(run, graph);
  }

  async #runGraph(run: Run, graph: { name: string; source: string }): Promise<RunOutcome> {
    const { engine, onEvent, ports } = this.#options;
    const { command_id, arguments: args } = run.command;
    const control = new RunControl({ ...this.#options, ...idsOf(run) });
    const running = engine.start({
      ...idsOf(run),
      channel: runChannel(command_id),
      ...graph,
      args,
      asked: run.command,
      onEvent: (event) => {
        control.heard(event);
        onEvent(command_id, event);
      },
    });
    ports.log.info('run.started', { command_id, execution_id: run.executionId, graph: graph.name });
    this.#active.set(command_id, running);
    const over = new AbortController();
    void control.watch(running, over.signal);
    const outcome = await running.done;
    over.abort();
    return outcome;
  }

  /**
   * The ack, and the question whether to run. Asked until there is an answer: not knowing means not running. Null when
   * the desktop stops without one.
   */
  async #askToStart(run: Run): Promise<ControlAnswer | null> {
    const { ports } = this.#options;
    const stopping = this.#stopping.signal;
    const backoff = new Backoff(ports.random);
    const late = abortedLater(ports.clock, stopping, ACK_GRACE_MS);
    try {
      do {
        try {
          run.sinceAsked = stopwatch(ports.clock);
          return await askControl(this.#options, idsOf(run), { phase: 'starting', holdMs: 0, signal: late.signal });
        } catch (error) {
          const { code, retry, message } = asRelayError(error);
          const { command_id } = run.command;
          ports.log.warn('control.failed', { command_id, phase: 'starting', code, reason: message });
          if (retry === 'never') return { cancel: true, reason: 'ended' };
          await pause(ports.clock, backoff.next(), stopping);
        }
      } while (!stopping.aborted);
      return null;
    } finally {
      late.release();
    }
  }

  #notStarted(run: Run, reason: StopReason | 'in-doubt'): void {
    // What is in doubt stays in the journal: the next process asks the relay.
    if (reason !== 'in-doubt') this.#options.journal.forget(run.command.command_id);
    this.#release(run);
    this.#options.onSlotFreed();
  }

  async #finish(run: Run, outcome: RunOutcome): Promise<void> {
    const { journal, outbox } = this.#options;
    const row = await journal.finish(idsOf(run), outcome);
    this.#release(run);
    const mode = this.#options.mode();
    const capacity = mode.takesAll ? undefined : capacityIn(mode, this.freeSlots());
    const answer = await outbox.post(row, capacity);
    if (answer?.sync_raised && capacity !== undefined) this.#options.onCapacityTold(capacity);
    else this.#options.onSlotFreed();
  }

  #release(run: Run): void {
    this.#active.delete(run.command.command_id);
    this.#pump();
  }
}

function idsOf(run: Run): ExecutionIds {
  return { commandId: run.command.command_id, executionId: run.executionId };
}
