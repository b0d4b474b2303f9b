/**
 * A run as a task of the extension: the same ticket in other words.
 *
 * Owns the mapping. A task's id is its run's `command_id`, so every run of an agent is a task, also one that was started
 * without the extension or before a restart. Must not ask for anything; what is shown here was given.
 */
import type { CallToolResult } from '@modelcontextprotocol/server';
import { hasEnded } from '../../protocol/command-machine.ts';
import type { RunView } from '../agent-api.ts';
import { stateText } from './answer-text.ts';
import { packAnswer } from './tool-call.ts';
import { runAnswer } from './tools.ts';

/** How a task stands, in what `tasks/get`, the answer to the start and the news of it have in common. */
export interface Task {
  readonly taskId: string;
  readonly status: 'working' | 'completed' | 'cancelled';
  readonly statusMessage: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Since it was created: until then it is there for certain. Grows as long as its run has not ended. */
  readonly ttlMs: number;
  readonly pollIntervalMs?: number;
}

export interface DetailedTask extends Task {
  /** Of a completed one: what the tool would have answered at its end. */
  readonly result?: CallToolResult;
}

export interface TaskViewOptions {
  /** Epoch milliseconds. */
  readonly now: number;
  /** How long an ended run is kept at least. */
  readonly keptMs: number;
}

export function taskOf(run: RunView, { now, keptMs }: TaskViewOptions): Task {
  const { queued_at, started_at, finished_at } = run.timing;
  const ended = hasEnded(run.status) ? finished_at : null;
  const lived = (ended === null ? now : Date.parse(ended)) - Date.parse(queued_at);
  const { check_after_seconds } = run;
  return {
    taskId: run.command_id,
    status: statusOf(run),
    statusMessage: stateText(run, now),
    createdAt: queued_at,
    lastUpdatedAt: ended ?? started_at ?? queued_at,
    ttlMs: Math.max(0, lived) + keptMs,
    ...(check_after_seconds === null ? {} : { pollIntervalMs: check_after_seconds * 1_000 }),
  };
}

export function detailedTaskOf(run: RunView, options: TaskViewOptions): DetailedTask {
  const task = taskOf(run, options);
  return task.status === 'completed' ? { ...task, result: resultOf(run, options.now) } : task;
}

/**
 * The extension keeps `failed` for requests that ended in a JSON-RPC error, and none of ours does: a run that did not
 * end well is a completed request whose result is an error.
 */
function statusOf({ status }: RunView): Task['status'] {
  if (!hasEnded(status)) return 'working';
  return status === 'cancelled' ? 'cancelled' : 'completed';
}

/** What get_graph_run says of it, in the published shape of the tool that was called. */
function resultOf(run: RunView, now: number): CallToolResult {
  const answer = runAnswer(run, now);
  // The task was made by the first call with its key; a later one with the same key was given the same task.
  const packed = packAnswer({ ...answer, data: { ...answer.data, replayed: false } });
  // The SDK marks results on their way out; it does not see this one, which is inside of another.
  const result = { resultType: 'complete', ...packed };
  return run.status === 'completed' ? result : { ...result, isError: true };
}
