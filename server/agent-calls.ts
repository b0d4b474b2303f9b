/**
 * What a connected agent asks for: sessions, a run, its state, a stop.
 *
 * Owns who may see what. Whatever is told here is on disk before.
 */
import { hasEnded } from '../protocol/command-machine.ts';
import type { Ports, StateStore } from '../protocol/ports.ts';
import { RUN_NOT_FOUND } from '../protocol/texts.ts';
import {
  type AgentApi,
  AgentError,
  type AgentPrincipal,
  type ListedSession,
  type OwnerAsked,
  type RunLook,
  type RunRequest,
  type RunTicket,
  type RunView,
} from './agent-api.ts';
import type { AwaitedApprovals } from './awaited-approvals.ts';
import type { CommandBook } from './command-book.ts';
import type { DesktopBook, Offering } from './desktop-book.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Draining } from './draining.ts';
import type { HeldRequests } from './held-requests.ts';
import type { RelayLimits } from './relay-limits.ts';
import type { CommandRow, RelayTables } from './rows.ts';
import { RunEvidence } from './run-evidence.ts';
import { RunStart } from './run-start.ts';
import { RunViews } from './run-views.ts';

export interface AgentCallsOptions {
  readonly ports: Ports;
  readonly store: StateStore<RelayTables>;
  readonly approvals: AwaitedApprovals;
  readonly commands: CommandBook;
  readonly desktops: DesktopBook;
  readonly dispatcher: Dispatcher;
  /** Calls that wait for news of a run, by agent. */
  readonly waits: HeldRequests;
  /** Agents that the owner has removed since the relay started; a call of theirs may still be on its way. */
  readonly endedAgents: ReadonlySet<string>;
  readonly draining: Draining;
  readonly limits: RelayLimits;
}

export function createAgentCalls(options: AgentCallsOptions): AgentApi {
  const { commands, desktops, dispatcher, draining, endedAgents, store, waits } = options;
  const { clock } = options.ports;
  const evidence = new RunEvidence({ ...options, clock });
  const views = new RunViews({ ...options, clock, evidence });
  const starts = new RunStart(options);

  async function listSessions(agent: AgentPrincipal, request: { project_id: string | undefined; limit: number }) {
    refuseEnded(agent);
    const projectId = request.project_id ?? onlyProject(agent);
    if (!agent.projects.includes(projectId)) {
      throw new AgentError(`Project not found or access removed: ${projectId}. ${projectsHint(agent)}`);
    }
    const sessions = desktops.sessions(projectId).slice(0, request.limit).map(listed);
    const active = views.active(agent.agentId, projectId);
    // Sessions are listed though the disk may be full; a run is told of only when it would survive a crash.
    if (active.length > 0) await store.synced();
    return { project_id: projectId, sessions, ...(active.length > 0 && { active_runs: active }) };
  }

  function listed({ session, desktopId }: Offering): ListedSession {
    const typical = evidence.typical(session.graph_session_id);
    const typical_run = typical && { median_ms: typical.medianMs, runs: typical.runs };
    return { ...session, desktop: desktops.presence(desktopId), typical_run };
  }

  async function runSession(agent: AgentPrincipal, request: RunRequest): Promise<RunTicket> {
    refuseEnded(agent);
    const { row, replayed, identicalWaiting } = starts.start(agent, request);
    const asOf = commands.get(row.commandId) ?? row;
    await store.synced();
    const hint = identicalWaiting === null ? {} : { identical_waiting_run: identicalWaiting };
    return { ...(await views.of(asOf)), replayed, ...hint };
  }

  function refuseEnded({ agentId }: AgentPrincipal): void {
    if (endedAgents.has(agentId)) throw new AgentError('The owner has removed the access of this client.');
  }

  /** The agent's own run. Another agent's cannot be told from one that never was. */
  function own(agent: AgentPrincipal, commandId: string): CommandRow {
    const row = commands.get(commandId);
    const isOwn = row !== null && row.agentId === agent.agentId && !endedAgents.has(agent.agentId);
    if (!isOwn || !agent.projects.includes(row.projectId)) {
      throw new AgentError(RUN_NOT_FOUND);
    }
    return row;
  }

  async function getRun(agent: AgentPrincipal, request: RunLook) {
    const { commandId, status } = own(agent, request.command_id);
    const isNews = request.known !== undefined && !isSameQuestion(views.asked(commandId), request.known);
    const wantsToWait = request.waitMs > 0 && !hasEnded(status) && !isNews;
    const mayWait = !draining.begun && waits.hasRoomFor(agent.agentId);
    if (wantsToWait && mayWait) {
      const hold = { holdMs: request.waitMs, signal: request.signal };
      await waits.answerOf(agent.agentId, dispatcher.watch(commandId, hold));
    }
    // Taken before the wait for the disk: what changes meanwhile has a wait of its own, and is told next time.
    const row = own(agent, commandId);
    await store.synced();
    own(agent, commandId);
    const view = await views.of(row);
    return wantsToWait && !mayWait ? { ...view, wait_seconds_granted: 0 } : view;
  }

  async function cancelRun(agent: AgentPrincipal, request: { command_id: string }): Promise<RunView> {
    const { commandId } = own(agent, request.command_id);
    const { row } = commands.apply(commandId, { type: 'cancel' });
    await store.synced();
    return views.of(row);
  }

  return { listSessions, runSession, getRun, cancelRun };
}

function isSameQuestion(one: OwnerAsked | null, other: OwnerAsked | null): boolean {
  return one?.tool === other?.tool && one?.since === other?.since;
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
