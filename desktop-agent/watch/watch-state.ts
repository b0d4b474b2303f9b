/**
 * What a person who watches sees, and what their keys mean.
 *
 * Owns the picture and how news changes it. Everything here is a value: nothing is asked, drawn or waited for.
 */
import type { AgentSnapshot } from '../agent.ts';
import type { RunSummary } from '../runs/record-reader.ts';
import type { FeedEvent } from '../runs/run-feed.ts';
import type { OpenApproval } from '../tools/approvals.ts';
import { emptyRun, isOver, runOfSummary, type WatchedRun, withEvent, withSummary } from './watched-run.ts';

export interface WatchState {
  /** Null while the desktop does not run. */
  readonly desktop: AgentSnapshot | null;
  /** Those that go on, in the order of their start. */
  readonly live: readonly WatchedRun[];
  /** The last ones that ended, the latest first. */
  readonly ended: readonly WatchedRun[];
  readonly approvals: readonly OpenApproval[];
  /** What the keys are for: the id of an approval or of a run. Null: the first there is. */
  readonly chosen: string | null;
  /** The run that the next `c` cancels. */
  readonly cancelling: string | null;
  /** The last thing that was done, or refused. */
  readonly said: string | null;
}

export const NOTHING_YET: WatchState = {
  desktop: null,
  live: [],
  ended: [],
  approvals: [],
  chosen: null,
  cancelling: null,
  said: null,
};

const ENDED_KEPT = 10;

/** A desktop that has started anew, or gone: what was known of its runs is over. */
export function forgotten(state: WatchState): WatchState {
  return { ...state, live: [], ended: [], approvals: [], cancelling: null };
}

/** Runs that are known from elsewhere, the latest first. */
export function withSummaries(state: WatchState, summaries: readonly RunSummary[]): WatchState {
  let next = state;
  for (const summary of summaries.toReversed()) {
    const known = runNamed(next, summary.command_id);
    next = withRun(next, known === null ? runOfSummary(summary) : withSummary(known, summary));
  }
  return next;
}

export function withEvents(state: WatchState, events: readonly FeedEvent[]): WatchState {
  let next = state;
  for (const each of events) {
    const run = runNamed(next, each.command_id) ?? emptyRun(each.command_id, each.at_ms);
    next = withRun(next, withEvent(run, each));
  }
  return next;
}

/** A run whose Graph is not known by name yet. */
export function hasUnnamed({ live, ended }: WatchState): boolean {
  return [...live, ...ended].some(({ graph }) => graph === '');
}

export function runNamed({ live, ended }: WatchState, commandId: string): WatchedRun | null {
  return [...live, ...ended].find((run) => run.commandId === commandId) ?? null;
}

function withRun(state: WatchState, run: WatchedRun): WatchState {
  const live = state.live.filter(({ commandId }) => commandId !== run.commandId);
  const ended = state.ended.filter(({ commandId }) => commandId !== run.commandId);
  if (isOver(run)) return { ...state, live, ended: [run, ...ended].toSorted(latestFirst).slice(0, ENDED_KEPT) };
  return { ...state, live: [...live, run].toSorted((a, b) => a.startedAt - b.startedAt), ended };
}

function latestFirst(a: WatchedRun, b: WatchedRun): number {
  return (b.endedAt ?? b.startedAt) - (a.endedAt ?? a.startedAt);
}

/** What can be chosen, from top to bottom. */
export function choices({ approvals, live }: WatchState): string[] {
  return [...approvals.map(({ approval }) => approval), ...live.map(({ commandId }) => commandId)];
}

/** What is chosen now; null when there is nothing. */
export function chosenOf(state: WatchState): string | null {
  const all = choices(state);
  return all.find((each) => each === state.chosen) ?? all[0] ?? null;
}

export type Key = 'up' | 'down' | 'allow' | 'allow-run' | 'deny' | 'cancel' | 'quit' | 'other';

/** What a key asks for, beside a change of the picture. */
export type Intent =
  | {
      readonly do: 'decide';
      readonly approval: string;
      readonly decision: 'allow' | 'deny';
      readonly scope: 'call' | 'run';
    }
  | { readonly do: 'cancel'; readonly commandId: string }
  | { readonly do: 'quit' };

export interface Pressed {
  readonly state: WatchState;
  readonly intent: Intent | null;
}

export function pressed(before: WatchState, key: Key): Pressed {
  // A first `c` counts only when a second one follows it.
  const state: WatchState = { ...before, cancelling: null, said: null };
  switch (key) {
    case 'quit':
      return { state, intent: { do: 'quit' } };
    case 'up':
      return { state: moved(state, -1), intent: null };
    case 'down':
      return { state: moved(state, 1), intent: null };
    case 'allow':
      return decided(state, { decision: 'allow', scope: 'call' });
    case 'allow-run':
      return decided(state, { decision: 'allow', scope: 'run' });
    case 'deny':
      return decided(state, { decision: 'deny', scope: 'call' });
    case 'cancel':
      return cancelled(state, before.cancelling);
    case 'other':
      return { state: before, intent: null };
  }
}

function moved(state: WatchState, by: number): WatchState {
  const all = choices(state);
  const at = all.indexOf(chosenOf(state) ?? '');
  return { ...state, chosen: all[Math.min(Math.max(at + by, 0), all.length - 1)] ?? null };
}

function decided(state: WatchState, what: { decision: 'allow' | 'deny'; scope: 'call' | 'run' }): Pressed {
  const chosen = chosenOf(state);
  const question = state.approvals.find(({ approval }) => approval === chosen) ?? state.approvals[0];
  if (question === undefined) return { state: { ...state, said: 'Nothing waits for a decision.' }, intent: null };
  return { state, intent: { do: 'decide', approval: question.approval, ...what } };
}

/** The chosen run, or that of the chosen approval; the same key again makes it so. */
function cancelled(state: WatchState, cancelling: string | null): Pressed {
  const chosen = chosenOf(state);
  const commandId = state.approvals.find(({ approval }) => approval === chosen)?.command_id ?? chosen;
  if (commandId === null) return { state: { ...state, said: 'Nothing runs.' }, intent: null };
  if (cancelling === commandId) return { state, intent: { do: 'cancel', commandId } };
  return { state: { ...state, chosen, cancelling: commandId }, intent: null };
}

/** By what a key is called (arrows) or sends (letters, where a capital is another key). */
const KEYS: Readonly<Record<string, Key>> = {
  up: 'up',
  k: 'up',
  down: 'down',
  j: 'down',
  a: 'allow',
  A: 'allow-run',
  d: 'deny',
  c: 'cancel',
  q: 'quit',
  '\u0003': 'quit',
};

/** As `readline` of Node tells of a key. */
export function keyOf({ name = '', sequence = '' }: { name?: string; sequence?: string }): Key {
  const arrow = name === 'up' || name === 'down' ? name : null;
  const known = arrow ?? sequence;
  return (Object.hasOwn(KEYS, known) ? KEYS[known] : undefined) ?? 'other';
}
