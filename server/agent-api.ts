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

/** What is known of a desktop, from its own requests. Instants are ISO 8601. */
export interface DesktopPresence {
  readonly online: boolean;
  /** Since when it has been online without a break; null while it is not. */
  readonly since: string | null;
  readonly transport: TransportName | null;
  /** True when it said that its machine goes to sleep, false when it is online or said that it stops, null when nobody knows. */
  readonly asleep: boolean | null;
  /** Since when, as it said itself. Left out while it is not asleep. */
  readonly asleep_since?: string;
  /** Null when nothing has been heard of it since the relay started. */
  readonly last_seen_at: string | null;
}

export interface ListedSession {
  readonly graph_session_id: string;
  readonly name: string;
  readonly description: string;
  readonly slug: string;
  readonly version: number;
  readonly status: string;
  /** JSON Schema of the arguments that it takes; left out by a Graph that does not say. */
  readonly arguments_schema?: Readonly<Record<string, unknown>> | undefined;
  readonly desktop: DesktopPresence;
  /** How long its last runs took from start to completion; null while none has completed. */
  readonly typical_run: { readonly median_ms: number; readonly runs: number } | null;
}

/** The owner is asked whether the run may call this tool, and has not answered. Nobody else can. */
export interface OwnerAsked {
  readonly tool: string;
  /** ISO 8601. */
  readonly since: string;
}

/** A run of this agent that has not ended, for a client that has lost its ids. */
export interface ActiveRun {
  readonly command_id: string;
  readonly graph_session_id: string;
  readonly status: VisibleStatus;
  readonly awaiting_approval?: OwnerAsked;
  readonly age_seconds: number;
}

export interface SessionList {
  readonly project_id: string;
  readonly sessions: readonly ListedSession[];
  /** Left out when there is none. The newest first, and not all of very many. */
  readonly active_runs?: readonly ActiveRun[];
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
  /** Left out while nothing is asked: the run goes on, or has not begun. */
  readonly awaiting_approval?: OwnerAsked;
  readonly execution_id: string | null;
  /** True while a cancel was asked for and the desktop has not confirmed it. */
  readonly cancel_requested: boolean;
  /** Waiting commands that the desktop will take before this one; null once it has started. */
  readonly ahead: number | null;
  /**
   * When a look is likely to find it ended: from the hold that is open, the queue, and this session's own history. Null
   * when it has ended.
   */
  readonly check_after_seconds: number | null;
  /** The run expires when it has not started by then. ISO 8601. */
  readonly start_by: string;
  readonly desktop: DesktopPresence;
  readonly timing: RunTiming;
  readonly result?: unknown;
  readonly result_truncated?: true;
  /** With `result_truncated`: how long the envelope would have been, if the desktop said so, and how long it may be. */
  readonly result_chars?: number | null;
  readonly result_limit_chars?: number;
  readonly error: string | null;
  readonly total_tokens: number | null;
  readonly reported_cost: number | null;
  /** Only in an answer that came sooner than it was asked to: how long it was waited, in seconds. */
  readonly wait_seconds_granted?: number;
}

export interface RunTicket extends RunView {
  /** True when this key was used before: this is the same run. */
  readonly replayed: boolean;
  /** An earlier run of this agent with the same session and arguments still waits: this one may be one too many. */
  readonly identical_waiting_run?: string;
}

export interface RunRequest {
  readonly graph_session_id: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly idempotency_key: string;
  /** How soon it has to start; the owner's default when left out. */
  readonly start_within_seconds?: number | undefined;
}

export interface RunLook {
  readonly command_id: string;
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** What the caller knows that the owner is asked; null for nothing. When it is something else, there is no wait. */
  readonly known?: OwnerAsked | null;
}

/**
 * Inputs have been checked against the tools' schemas. Every method rejects with an {@link AgentError} for what the
 * caller can act on, and with a `RelayError` for what it can only try again (`store-unavailable`, `queue-full`, …).
 */
export interface AgentApi {
  listSessions(agent: AgentPrincipal, request: { project_id: string | undefined; limit: number }): Promise<SessionList>;
  /** Resolves when the run is on disk. */
  runSession(agent: AgentPrincipal, request: RunRequest): Promise<RunTicket>;
  /** With `waitMs`, resolves at the first change of the status or of what the owner is asked, or when the wait is over or `signal` aborted. */
  getRun(agent: AgentPrincipal, request: RunLook): Promise<RunView>;
  cancelRun(agent: AgentPrincipal, request: { command_id: string }): Promise<RunView>;
}
