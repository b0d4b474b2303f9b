/**
 * What a connected agent asks for: sessions, a run, its state, a stop.
 *
 * Owns who may see what, the idempotency key, and the texts of refusals. Whatever is told here is on disk before.
 */
import { createHash } from 'node:crypto';
import { canonicalJson } from '../protocol/canonical.ts';
import { hasEnded, isWaiting, newLife } from '../protocol/command-machine.ts';
import { RelayError } from '../protocol/errors.ts';
import { ARGUMENTS_CHARS, QUEUED_PER_DESKTOP, START_BY_DEFAULT_MS } from '../protocol/limits.ts';
import type { Ports, StateStore } from '../protocol/ports.ts';
import { RUN_NOT_FOUND } from '../protocol/texts.ts';
import {
  type AgentApi,
  AgentError,
  type AgentPrincipal,
  type ListedSession,
  type RunRequest,
  type RunTicket,
  type RunTiming,
  type RunView,
} from './agent-api.ts';
import type { CommandBook } from './command-book.ts';
import type { DesktopBook, Offering } from './desktop-book.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { CommandRow, RelayTables } from './rows.ts';

export interface AgentCallsOptions {
  readonly ports: Ports;
  readonly store: StateStore<RelayTables>;
  readonly commands: CommandBook;
  readonly desktops: DesktopBook;
  readonly dispatcher: Dispatcher;
}

export function createAgentCalls(options: AgentCallsOptions): AgentApi {
  const { commands, desktops, dispatcher, store, ports } = options;

  async function listSessions(agent: AgentPrincipal, request: { project_id: string | undefined; limit: number }) {
    const projectId = request.project_id ?? onlyProject(agent);
    if (!agent.projects.includes(projectId)) {
      throw new AgentError(`Project not found or access removed: ${projectId}. ${projectsHint(agent)}`);
    }
    const sessions = desktops.sessions(projectId).slice(0, request.limit).map(listed);
    return { project_id: projectId, sessions };
  }

  function listed({ session, desktopId }: Offering): ListedSession {
    return { ...session, desktop: desktops.presence(desktopId) };
  }

  async function runSession(agent: AgentPrincipal, request: RunRequest): Promise<RunTicket> {
    const requestHash = hashOf(request);
    const earlier = commands.byKey(agent.agentId, request.idempotency_key);
    const replayed = earlier !== null;
    const row = earlier ?? enqueue(agent, request, requestHash);
    if (row.requestHash !== requestHash) {
      throw new AgentError(
        `This idempotency_key was used before for another run (${row.commandId}), so nothing was started. Use a new key for a new run; repeat the same session and arguments to get the earlier ticket.`,
      );
    }
    await store.synced();
    return { ...(await view(row.commandId)), replayed };
  }

  function enqueue(agent: AgentPrincipal, request: RunRequest, requestHash: string): CommandRow {
    const offering = desktops.find(agent.projects, request.graph_session_id);
    if (offering === null) {
      throw new AgentError(
        `Graph session not found or not shared: ${request.graph_session_id}. list_graph_sessions shows what is shared now.`,
      );
    }
    refuseUnrunnable(offering, request);
    const now = ports.clock.now();
    const row: CommandRow = {
      ...newLife(now),
      commandId: ports.ids.uuid(),
      agentId: agent.agentId,
      projectId: offering.projectId,
      graphSessionId: offering.session.graph_session_id,
      desktopId: offering.desktopId,
      slug: offering.session.slug,
      arguments: request.arguments,
      idempotencyKey: request.idempotency_key,
      requestHash,
      sequence: commands.nextSequence(),
      startBy: now + START_BY_DEFAULT_MS,
      transport: null,
    };
    commands.add(row);
    dispatcher.dispatch(row.desktopId);
    return row;
  }

  function refuseUnrunnable({ session, desktopId }: Offering, request: RunRequest): void {
    if (session.status === 'broken') {
      throw new AgentError(
        `The Graph "${session.name}" does not parse at the moment, so it cannot run. Its owner sees the error on the desktop.`,
      );
    }
    if (JSON.stringify(request.arguments).length > ARGUMENTS_CHARS) {
      throw new AgentError(
        `The arguments are longer than ${ARGUMENTS_CHARS} characters of JSON. Pass a reference to the data instead.`,
      );
    }
    if (commands.waitingAhead(desktopId) >= QUEUED_PER_DESKTOP) {
      throw new RelayError(
        'queue-full',
        `${QUEUED_PER_DESKTOP} runs are waiting for this desktop, and no more are taken. Wait until some have run, or cancel some with cancel_graph_run.`,
      );
    }
  }

  /** The agent's own run. Another agent's cannot be told from one that never was. */
  function own(agent: AgentPrincipal, commandId: string): CommandRow {
    const row = commands.get(commandId);
    if (row === null || row.agentId !== agent.agentId || !agent.projects.includes(row.projectId)) {
      throw new AgentError(RUN_NOT_FOUND);
    }
    return row;
  }

  async function getRun(agent: AgentPrincipal, request: { command_id: string; waitMs: number; signal: AbortSignal }) {
    const row = own(agent, request.command_id);
    if (request.waitMs > 0 && !hasEnded(row.status)) {
      await dispatcher.nextChange(row.commandId, { holdMs: request.waitMs, signal: request.signal });
    }
    await store.synced();
    own(agent, row.commandId);
    return view(row.commandId);
  }

  async function cancelRun(agent: AgentPrincipal, request: { command_id: string }): Promise<RunView> {
    const { commandId } = own(agent, request.command_id);
    commands.apply(commandId, { type: 'cancel' });
    await store.synced();
    return view(commandId);
  }

  async function view(commandId: string): Promise<RunView> {
    const row = commands.get(commandId);
    if (row === null) throw new AgentError(RUN_NOT_FOUND);
    const result = row.result === 'stored' ? { result: parse(await store.readFrozen(commandId)) } : {};
    return {
      command_id: row.commandId,
      project_id: row.projectId,
      graph_session_id: row.graphSessionId,
      status: row.status === 'offered' ? 'queued' : row.status,
      execution_id: row.executionId,
      cancel_requested: row.cancelRequestedAt !== null,
      ahead: isWaiting(row.status) ? commands.waitingAhead(row.desktopId, row) : null,
      desktop: desktops.presence(row.desktopId),
      timing: timingOf(row),
      ...result,
      ...(row.result === 'truncated' ? { result_truncated: true as const } : {}),
      error: row.error,
      total_tokens: row.totalTokens,
      reported_cost: row.reportedCost,
    };
  }

  return { listSessions, runSession, getRun, cancelRun };
}

function onlyProject(agent: AgentPrincipal): string {
  const [only, ...others] = agent.projects;
  if (only === undefined || others.length > 0)
    throw new AgentError(`Which project? Pass project_id. ${projectsHint(agent)}`);
  return only;
}

function projectsHint(agent: AgentPrincipal): string {
  return agent.projects.length > 0
    ? `Yours: ${agent.projects.join(', ')}.`
    : 'This agent has no project; its owner can grant one.';
}

/** What an idempotency key stands for: the session and the arguments, by meaning. */
function hashOf(request: RunRequest): string {
  return createHash('sha256')
    .update(canonicalJson([request.graph_session_id, request.arguments]))
    .digest('hex');
}

function parse(text: string | null): unknown {
  return text === null ? null : JSON.parse(text);
}

export function timingOf(row: CommandRow): RunTiming {
  const instant = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  return {
    queued_at: new Date(row.queuedAt).toISOString(),
    offered_at: instant(row.offeredAt),
    started_at: instant(row.startedAt),
    finished_at: instant(row.finishedAt),
    pickup_ms: row.startedAt === null ? null : row.startedAt - row.queuedAt,
    run_ms: row.startedAt === null || row.finishedAt === null ? null : row.finishedAt - row.startedAt,
    transport: row.transport,
  };
}
