/**
 * What a connected agent can do, apart from how it is asked: the MCP endpoint is one face of this.
 *
 * Owns shapes and texts of answers (snake_case, as they go out). Errors are `AgentError`s: their text is for a model.
 */

import type { TransportName } from '../protocol/api.ts';
import type { CommandStatus } from '../protocol/command-machine.ts';

/** A connected agent that showed a valid token. */
export interface AgentPrincipal {
  readonly agentId: string;
  readonly name: string;
  /** Projects that it may use. */
  readonly projects: readonly string[];
  readonly scopes: readonly AgentScope[];
}

export type AgentScope = 'osfoundry:read' | 'osfoundry:run';

/** A refusal that a caller can read and act on. Not a fault of the relay. */
export class AgentError extends Error {
  override readonly name = 'AgentError';
}

export interface DesktopPresence {
  readonly online: boolean;
  /** ISO 8601; null when it was never seen since the relay started and is not online. */
  readonly last_seen_at: string | null;
  readonly transport: TransportName | null;
}

export interface ListedSession {
  readonly graph_session_id: string;
  readonly name: string;
  readonly description: string;
  readonly slug: string;
  readonly version: number;
  readonly status: string;
  readonly desktop: DesktopPresence;
}

export interface SessionList {
  readonly project_id: string;
  readonly sessions: readonly ListedSession[];
}

/** What callers see of a status: an offered command is still queued for them. */
export type VisibleStatus = Exclude<CommandStatus, 'offered'>;

export interface RunTiming {
  readonly queued_at: string;
  readonly offered_at: string | null;
  readonly started_at: string | null;
  readonly finished_at: string | null;
  /** queued → started, in milliseconds; null while it has not started. */
  readonly pickup_ms: number | null;
  /** started → finished, in milliseconds. */
  readonly run_ms: number | null;
  readonly transport: TransportName | null;
}

export interface RunView {
  readonly command_id: string;
  readonly project_id: string;
  readonly graph_session_id: string;
  readonly status: VisibleStatus;
  readonly execution_id: string | null;
  /** True while a cancel was asked for and the desktop has not confirmed it. */
  readonly cancel_requested: boolean;
  /** Waiting commands that the desktop will take before this one; null once it has started. */
  readonly ahead: number | null;
  readonly desktop: DesktopPresence;
  readonly timing: RunTiming;
  readonly result?: unknown;
  readonly result_truncated?: true;
  readonly error: string | null;
  readonly total_tokens: number | null;
  readonly reported_cost: number | null;
}

export interface RunTicket extends RunView {
  /** True when this key was used before: this is the same run. */
  readonly replayed: boolean;
}

export interface RunRequest {
  readonly graph_session_id: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly idempotency_key: string;
}

/**
 * Inputs have been checked against the tools' schemas. Every method rejects with an {@link AgentError} for what the
 * caller can act on, and with a `RelayError` for what it can only try again (`store-unavailable`, `queue-full`, …).
 */
export interface AgentApi {
  listSessions(agent: AgentPrincipal, request: { project_id: string | undefined; limit: number }): Promise<SessionList>;
  /** Resolves when the run is on disk. */
  runSession(agent: AgentPrincipal, request: RunRequest): Promise<RunTicket>;
  /** With `waitMs`, resolves at the first change of the status, or when the wait is over or `signal` aborted. */
  getRun(agent: AgentPrincipal, request: { command_id: string; waitMs: number; signal: AbortSignal }): Promise<RunView>;
  cancelRun(agent: AgentPrincipal, request: { command_id: string }): Promise<RunView>;
}
