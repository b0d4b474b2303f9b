/**
 * News of tasks for a client that listens: how each one stands, then each change, until all have ended.
 *
 * Owns what is told when, and to whom it may be told: a listener can stay for hours, so who it is and what it may see
 * is asked again before each word. Waits as get_graph_run does, and counts as its waits do: whoever gets no room for
 * one is told how things stand, and asks again later. Must not know how news travel.
 */
import { hasEnded } from '../../protocol/command-machine.ts';
import { RelayError } from '../../protocol/errors.ts';
import { TASKS_PER_LISTEN, WAIT_MAX_MS } from '../../protocol/limits.ts';
import { pause } from '../../protocol/waiting.ts';
import { AgentError, type AgentPrincipal, type OwnerAsked, type RunView } from '../agent-api.ts';
import { detailsOf, type TaskPorts } from './task-calls.ts';
import type { DetailedTask } from './task-view.ts';

/** A wait that came back early with nothing to tell is not followed by the next at once: nothing may turn for hours. */
const EMPTY_PAUSE_MS = 1_000;

export interface Listener {
  /** Who listens, as of now; null when its token is not good any more. */
  readonly agent: () => AgentPrincipal | null;
  /** Aborted when the client has gone away. */
  readonly signal: AbortSignal;
  /** Told once, before all news: the tasks of which there will be some. */
  readonly accepted: (taskIds: readonly string[]) => Promise<void>;
  readonly news: (task: DetailedTask) => Promise<void>;
}

/** Resolves when there will be no more news. */
export async function tellNews(ports: TaskPorts, listener: Listener, taskIds: readonly string[]): Promise<void> {
  const asked = [...new Set(taskIds)].slice(0, TASKS_PER_LISTEN);
  const looks = await Promise.all(asked.map((taskId) => look(ports, listener, { taskId, waitMs: 0 })));
  const runs = looks.filter((run) => run !== null);
  await listener.accepted(runs.map(({ command_id }) => command_id));
  // When one of them fails, the others must not go on for nobody.
  const failed = new AbortController();
  const signal = AbortSignal.any([listener.signal, failed.signal]);
  try {
    await Promise.all(runs.map((run) => follow(ports, { ...listener, signal }, run)));
  } finally {
    failed.abort();
  }
}

async function follow(ports: TaskPorts, listener: Listener, first: RunView): Promise<void> {
  await listener.news(detailsOf(ports, first));
  for (let told = first; !hasEnded(told.status); ) {
    const began = ports.clock.monotonic();
    const known = told.awaiting_approval ?? null;
    const run = await look(ports, listener, { taskId: told.command_id, waitMs: WAIT_MAX_MS, known });
    if (run === null) return;
    const isSame = !isNews(told, run);
    if (!isSame) await listener.news(detailsOf(ports, run));
    // There is no room for another wait, or the relay is about to stop.
    if (run.wait_seconds_granted !== undefined) return;
    const cameEarly = ports.clock.monotonic() - began < WAIT_MAX_MS / 2;
    if (isSame && cameEarly) await pause(ports.clock, EMPTY_PAUSE_MS, listener.signal);
    told = run;
  }
}

/** Null when there is nothing to tell this listener of this task, now or any more. */
async function look(
  { api }: TaskPorts,
  { agent, signal }: Listener,
  { taskId, ...how }: { taskId: string; waitMs: number; known?: OwnerAsked | null },
): Promise<RunView | null> {
  const before = agent();
  if (before === null || signal.aborted) return null;
  const run = await api.getRun(before, { command_id: taskId, signal, ...how }).catch(nullForUnknown);
  const after = agent();
  if (run === null || after === null || signal.aborted) return null;
  return after.projects.includes(run.project_id) ? run : null;
}

function nullForUnknown(error: unknown): null {
  // Its token is not good any more, or it may not see this run.
  if (error instanceof AgentError || (error instanceof RelayError && error.code === 'unauthorized')) return null;
  throw error;
}

function isNews(before: RunView, now: RunView): boolean {
  const asked = ({ awaiting_approval: open }: RunView) => `${open?.tool} ${open?.since}`;
  return (
    before.status !== now.status || before.cancel_requested !== now.cancel_requested || asked(before) !== asked(now)
  );
}
