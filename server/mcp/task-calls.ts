/**
 * The methods of the Tasks extension, over the same runs and the same api as the tools.
 *
 * Owns their answers and errors: a program reads them, so each error is a JSON-RPC one. Who may call was checked before;
 * whose run it is, is checked by the api. Must not know how messages travel.
 */
import { type CallToolResult, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { asRelayError, RelayError } from '../../protocol/errors.ts';
import type { Clock, Log } from '../../protocol/ports.ts';
import { type AgentApi, AgentError, type AgentPrincipal, type RunTicket, type RunView } from '../agent-api.ts';
import { type DetailedTask, detailedTaskOf, taskOf } from './task-view.ts';

export interface TaskPorts {
  readonly api: AgentApi;
  readonly clock: Clock;
  readonly log: Log;
  /** How long an ended run is kept at least, however many there are. */
  readonly runsKeptMs: number;
}

export interface TaskCaller {
  readonly agent: AgentPrincipal;
  readonly signal: AbortSignal;
}

export type TaskMethod = 'tasks/get' | 'tasks/update' | 'tasks/cancel';

/** An acknowledgement says nothing. */
type Acknowledged = Readonly<Record<string, never>>;

type TaskCall = (ports: TaskPorts, caller: TaskCaller, taskId: string) => Promise<DetailedTask | Acknowledged>;

export const TASK_METHODS: Readonly<Record<TaskMethod, TaskCall>> = {
  'tasks/get': getTask,
  /** No run of ours ever asks its caller for anything, and answers to what was not asked are ignored. */
  async 'tasks/update'(ports, caller, taskId) {
    await lookAt(ports, caller, taskId);
    return {};
  },
  /** An acknowledgement, also when the run has ended before: how it ended is for the next look. */
  async 'tasks/cancel'({ api }, { agent }, taskId) {
    await api.cancelRun(agent, { command_id: taskId });
    return {};
  },
};

/** Calls the method, words the failure, and writes the log line. */
export async function callTaskMethod(
  ports: TaskPorts,
  caller: TaskCaller,
  { method, taskId }: { method: TaskMethod; taskId: string },
): Promise<DetailedTask | Acknowledged> {
  const { clock, log } = ports;
  const startedAt = clock.monotonic();
  const line = (ok: boolean) => {
    const duration_ms = Math.round(clock.monotonic() - startedAt);
    log.info('mcp.task', { method, agent_id: caller.agent.agentId, duration_ms, ok });
  };
  try {
    const answer = await TASK_METHODS[method](ports, caller, taskId);
    line(true);
    return answer;
  } catch (error) {
    line(false);
    throw asProtocolError(error, (fault) =>
      log.error('mcp.fault', { method, agent_id: caller.agent.agentId, err: fault }),
    );
  }
}

async function getTask(ports: TaskPorts, caller: TaskCaller, taskId: string): Promise<DetailedTask> {
  return detailsOf(ports, await lookAt(ports, caller, taskId));
}

export function detailsOf(ports: TaskPorts, run: RunView): DetailedTask {
  return detailedTaskOf(run, viewOptions(ports));
}

/**
 * The answer to a start call whose client knows tasks: the task in place of the ticket. A call that started nothing is
 * answered as ever, since nothing is left to wait for.
 */
export function taskInPlaceOf(ports: TaskPorts, started: CallToolResult): CallToolResult {
  if (started.isError === true) return started;
  const ticket = started.structuredContent as unknown as RunTicket;
  // The SDK lets no result of a tool out without `content`; clients of tasks do not look at it.
  return { content: [], resultType: 'task', ...taskOf(ticket, viewOptions(ports)) };
}

function lookAt({ api }: TaskPorts, { agent, signal }: TaskCaller, taskId: string): Promise<RunView> {
  return api.getRun(agent, { command_id: taskId, waitMs: 0, signal });
}

function viewOptions({ clock, runsKeptMs }: TaskPorts) {
  return { now: clock.now(), keptMs: runsKeptMs };
}

/** What the api refuses is about the id; all else is the relay's, and may be tried again. */
export function asProtocolError(error: unknown, onFault: (error: unknown) => void): ProtocolError {
  if (error instanceof ProtocolError) return error;
  if (error instanceof AgentError) return new ProtocolError(ProtocolErrorCode.InvalidParams, error.message);
  if (!(error instanceof RelayError)) onFault(error);
  const { code, message } = asRelayError(error);
  return new ProtocolError(ProtocolErrorCode.InternalError, `${message} [${code}]`);
}
