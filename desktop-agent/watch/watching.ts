/**
 * Follows a desktop that runs, goes, and comes back: asks for what is new, and does what keys mean.
 *
 * Owns the questions and when they are asked. What is seen is a picture (`watch-state.ts`); drawing it is up to others.
 */
import { HOLD_MAX_MS } from '../../protocol/limits.ts';
import type { Clock } from '../../protocol/ports.ts';
import { pause } from '../../protocol/waiting.ts';
import type { AgentSnapshot } from '../agent.ts';
import { shortId } from '../command-line/run-text.ts';
import type { RunSummary } from '../runs/record-reader.ts';
import type { FeedAnswer, FeedEvent } from '../runs/run-feed.ts';
import type { OpenApproval } from '../tools/approvals.ts';
import {
  forgotten,
  hasUnnamed,
  type Intent,
  type Key,
  NOTHING_YET,
  pressed,
  type WatchState,
  withEvents,
  withSummaries,
} from './watch-state.ts';

/** The desktop, as it can be asked. Each call rejects while it does not run. */
export interface WatchedDesktop {
  status(): Promise<AgentSnapshot>;
  runs(limit: number): Promise<readonly RunSummary[]>;
  /** Those after this one, held until there is one. */
  events(question: { after: number; waitMs: number }): Promise<FeedAnswer>;
  approvals(): Promise<readonly OpenApproval[]>;
  decide(intent: Intent & { do: 'decide' }): Promise<unknown>;
  cancel(commandId: string): Promise<unknown>;
}

export interface WatchingOptions {
  readonly desktop: WatchedDesktop;
  readonly clock: Clock;
  readonly onChange: (state: WatchState) => void;
  readonly onQuit: () => void;
}

/** How old what is shown of the connection may be, and how soon a desktop that comes back is seen. */
const LOOK_MS = 1_000;
/** Runs that are asked for when the watching begins. */
const RUNS = 20;

/** Events after which the questions to the owner are other ones. */
const ABOUT_APPROVALS = new Set(['approval_asked', 'approval_decided', 'finished', 'tool_finished', 'tool_refused']);

export class Watching {
  readonly #options: WatchingOptions;
  #state: WatchState = NOTHING_YET;
  /** Which start of the desktop the events are of, and the last one seen. */
  #feed: { readonly id: string; readonly after: number } | null = null;

  constructor(options: WatchingOptions) {
    this.#options = options;
  }

  get state(): WatchState {
    return this.#state;
  }

  /** Until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#again(signal, () => this.#lookAtDesktop()),
      this.#again(signal, () => this.#lookAtRuns()),
    ]);
  }

  press(key: Key): void {
    const { state, intent } = pressed(this.#state, key);
    this.#show(state);
    if (intent !== null) void this.#act(intent);
  }

  /** Asks again and again; after a failure in a moment. What `look` gives is the pause before the next look. */
  async #again(signal: AbortSignal, look: () => Promise<number>): Promise<void> {
    while (!signal.aborted) {
      const pauseMs = await look().catch(() => {
        this.#feed = null;
        this.#show({ ...forgotten(this.#state), desktop: null });
        return LOOK_MS;
      });
      if (pauseMs > 0) await pause(this.#options.clock, pauseMs, signal);
    }
  }

  async #lookAtDesktop(): Promise<number> {
    const desktop = await this.#options.desktop.status();
    this.#show({ ...this.#state, desktop });
    return LOOK_MS;
  }

  async #lookAtRuns(): Promise<number> {
    const { desktop } = this.#options;
    if (this.#feed === null) {
      await this.#nameRuns();
      await this.#lookAtApprovals();
    }
    const before = this.#feed;
    const answer = await desktop.events({ after: before?.after ?? 0, waitMs: HOLD_MAX_MS });
    if (before !== null && before.id !== answer.feed) {
      // The desktop was started anew meanwhile, and its numbers are others.
      this.#feed = null;
      this.#show(forgotten(this.#state));
      return 0;
    }
    this.#feed = { id: answer.feed, after: answer.next };
    await this.#heard(answer);
    return 0;
  }

  async #heard({ events, missed }: FeedAnswer): Promise<void> {
    this.#show(withEvents(this.#state, events));
    if (missed > 0 || hasUnnamed(this.#state)) await this.#nameRuns();
    if (events.some(({ event }: FeedEvent) => ABOUT_APPROVALS.has(event.type))) await this.#lookAtApprovals();
  }

  async #nameRuns(): Promise<void> {
    const runs = await this.#options.desktop.runs(RUNS);
    this.#show(withSummaries(this.#state, runs));
  }

  async #lookAtApprovals(): Promise<void> {
    const approvals = await this.#options.desktop.approvals();
    this.#show({ ...this.#state, approvals });
  }

  async #act(intent: Intent): Promise<void> {
    try {
      await this.#do(intent);
    } catch (error) {
      this.#show({ ...this.#state, said: error instanceof Error ? error.message : String(error) });
    }
  }

  async #do(intent: Intent): Promise<void> {
    const { desktop, onQuit } = this.#options;
    if (intent.do === 'quit') return onQuit();
    if (intent.do === 'cancel') {
      await desktop.cancel(intent.commandId);
      return this.#show({ ...this.#state, said: `Run ${shortId(intent.commandId)} is asked to stop.` });
    }
    const tool = this.#state.approvals.find(({ approval }) => approval === intent.approval)?.tool ?? intent.approval;
    await desktop.decide(intent);
    const scope = intent.scope === 'run' ? ' for the rest of the run' : '';
    this.#show({ ...this.#state, said: `${tool}: ${intent.decision === 'allow' ? 'allowed' : 'denied'}${scope}.` });
    await this.#lookAtApprovals();
  }

  #show(state: WatchState): void {
    this.#state = state;
    this.#options.onChange(state);
  }
}
