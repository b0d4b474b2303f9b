/**
 * The control that a desktop keeps open (or asks for again and again) while a run goes on: a stop comes in by it, and
 * what the run waits for goes out.
 *
 * Owns the questions to the owner that are open, as the run's own events tell of them. A control that says something old
 * is given up for one that says how things are. Must not decide anything of the run but pass the stop on.
 */
import { Backoff } from '../protocol/backoff.ts';
import { asRelayError } from '../protocol/errors.ts';
import { APPROVAL_WAIT_MAX_MS } from '../protocol/limits.ts';
import type { Clock, Ports } from '../protocol/ports.ts';
import type { AwaitingApproval, ControlAnswer } from '../protocol/schemas.ts';
import { pause, stopwatch } from '../protocol/waiting.ts';
import type { ExecutionIds } from './execution-journal.ts';
import type { RelayMode } from './modes.ts';
import type { Dialer, RunningGraph } from './ports.ts';
import type { GraphEvent } from './run-events.ts';
import { STOPPED_TEXTS } from './stop-texts.ts';

export interface ControlCaller {
  readonly dialer: Dialer;
  /** The epoch that the relay gave to this instance; undefined before the first sync. */
  readonly epoch: () => number | undefined;
}

export interface ControlQuestion {
  readonly phase: 'starting' | 'running';
  readonly holdMs: number;
  readonly awaiting?: AwaitingApproval | null;
  readonly signal: AbortSignal;
}

export function askControl(
  { dialer, epoch }: ControlCaller,
  { commandId, executionId }: ExecutionIds,
  { phase, holdMs, awaiting = null, signal }: ControlQuestion,
): Promise<ControlAnswer> {
  const known = epoch();
  return dialer.control(
    {
      command_id: commandId,
      execution_id: executionId,
      phase,
      hold_ms: holdMs,
      ...(known === undefined ? {} : { epoch: known }),
      ...(awaiting === null ? {} : { awaiting_approval: awaiting }),
    },
    { signal },
  );
}

export interface RunControlOptions extends ControlCaller, ExecutionIds {
  readonly ports: Ports;
  /** How work is asked for at this moment. */
  readonly mode: () => RelayMode;
}

export class RunControl {
  readonly #options: RunControlOptions;
  readonly #questions: OpenQuestions;
  /** Aborted when what is said of the run is not so any more. */
  #news = new AbortController();

  constructor(options: RunControlOptions) {
    this.#options = options;
    this.#questions = new OpenQuestions(options.ports.clock);
  }

  /** Takes note of an event of the run. */
  heard(event: GraphEvent): void {
    if (this.#questions.heard(event)) this.#news.abort();
  }

  /** Asks until the run is over, and passes a stop on, once. */
  async watch(running: RunningGraph, over: AbortSignal): Promise<void> {
    const { commandId, ports, mode: modeNow } = this.#options;
    const backoff = new Backoff(ports.random);
    await pause(ports.clock, modeNow().controlPauseMs, AbortSignal.any([over, this.#news.signal]));
    while (!over.aborted) {
      this.#news = new AbortController();
      const { signal: news } = this.#news;
      const mode = modeNow();
      const signal = AbortSignal.any([over, news]);
      const question = { phase: 'running', holdMs: mode.controlHoldMs, signal } as const;
      let pauseMs = mode.controlPauseMs;
      try {
        const answer = await askControl(this.#options, this.#options, {
          ...question,
          awaiting: this.#questions.first(),
        });
        backoff.reset();
        if (answer.cancel) {
          running.cancel(STOPPED_TEXTS[answer.reason ?? 'cancelled'] ?? 'The run was cancelled.');
          return;
        }
      } catch (error) {
        if (over.aborted) return;
        if (news.aborted) continue;
        pauseMs = Math.max(pauseMs, backoff.next());
        ports.log.debug('control.failed', { command_id: commandId, code: asRelayError(error).code });
      }
      if (pauseMs > 0) await pause(ports.clock, pauseMs, signal);
    }
  }
}

interface OpenQuestion {
  readonly call: number;
  readonly tool: string;
  readonly waitedMs: () => number;
}

/** The approvals of one run that its owner has not decided, the first one first. */
class OpenQuestions {
  readonly #clock: Clock;
  readonly #open = new Map<string, OpenQuestion>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether another question is the first one now. */
  heard(event: GraphEvent): boolean {
    const before = this.#first();
    if (event.type === 'approval_asked') {
      const { approval, call, tool } = event;
      this.#open.set(approval, { call, tool, waitedMs: stopwatch(this.#clock) });
    } else if (event.type === 'approval_decided') {
      this.#open.delete(event.approval);
    } else if (event.type === 'tool_finished' || event.type === 'tool_refused') {
      // A Graph that was called has ended, and its questions were taken back.
      for (const [approval, { call }] of this.#open) if (call === event.call) this.#open.delete(approval);
    }
    return this.#first() !== before;
  }

  first(): AwaitingApproval | null {
    const first = this.#first();
    if (first === undefined) return null;
    return { tool: first.tool, waiting_ms: Math.min(Math.round(first.waitedMs()), APPROVAL_WAIT_MAX_MS) };
  }

  #first(): OpenQuestion | undefined {
    return this.#open.values().next().value;
  }
}
