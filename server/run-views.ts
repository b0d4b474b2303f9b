/**
 * What a connected agent is shown of its runs.
 *
 * Owns the form of a run in answers. Whoever asks for one has been checked; what is shown here is on disk, but for what
 * its owner is asked at this moment.
 */
import { hasEnded, isWaiting } from '../protocol/command-machine.ts';
import { ACTIVE_RUNS_SHOWN, RESULT_ENVELOPE_CHARS } from '../protocol/limits.ts';
import type { Clock, StateStore } from '../protocol/ports.ts';
import type { ActiveRun, OwnerAsked, RunTiming, RunView, VisibleStatus } from './agent-api.ts';
import type { AwaitedApprovals } from './awaited-approvals.ts';
import type { CommandBook } from './command-book.ts';
import type { DesktopBook } from './desktop-book.ts';
import type { CommandRow, RelayTables } from './rows.ts';
import type { RunEvidence } from './run-evidence.ts';

export interface RunViewsOptions {
  readonly clock: Clock;
  readonly store: StateStore<RelayTables>;
  readonly approvals: AwaitedApprovals;
  readonly commands: CommandBook;
  readonly desktops: DesktopBook;
  readonly evidence: RunEvidence;
}

export class RunViews {
  readonly #options: RunViewsOptions;

  constructor(options: RunViewsOptions) {
    this.#options = options;
  }

  /** The run as it was when the row was taken: what has happened since may not be on disk yet. */
  async of(row: CommandRow): Promise<RunView> {
    const { commands, desktops, evidence } = this.#options;
    return {
      command_id: row.commandId,
      project_id: row.projectId,
      graph_session_id: row.graphSessionId,
      status: visible(row),
      ...this.#askedFor(row),
      execution_id: row.executionId,
      cancel_requested: row.cancelRequestedAt !== null,
      ahead: isWaiting(row.status) ? commands.waitingAhead(row.desktopId, row) : null,
      check_after_seconds: evidence.checkAfterSeconds(row),
      start_by: isoOf(row.startBy),
      desktop: desktops.presence(row.desktopId),
      timing: timingOf(row),
      ...(await this.#resultOf(row)),
      error: row.error,
      total_tokens: row.totalTokens,
      reported_cost: row.reportedCost,
    };
  }

  /** The agent's runs in this project that have not ended, the newest first. */
  active(agentId: string, projectId: string): ActiveRun[] {
    const { commands, clock } = this.#options;
    const own = [...commands.allLive()].filter((row) => row.agentId === agentId && row.projectId === projectId);
    return own
      .sort((a, b) => b.sequence - a.sequence)
      .slice(0, ACTIVE_RUNS_SHOWN)
      .map((row) => ({
        command_id: row.commandId,
        graph_session_id: row.graphSessionId,
        status: visible(row),
        ...this.#askedFor(row),
        age_seconds: Math.max(0, Math.round((clock.now() - row.queuedAt) / 1_000)),
      }));
  }

  /** What the run's owner is asked at this moment; null for nothing. */
  asked(commandId: string): OwnerAsked | null {
    const open = this.#options.approvals.of(commandId);
    return open && { tool: open.tool, since: isoOf(open.since) };
  }

  #askedFor({ commandId }: CommandRow): { awaiting_approval?: OwnerAsked } {
    const asked = this.asked(commandId);
    return asked === null ? {} : { awaiting_approval: asked };
  }

  async #resultOf(row: CommandRow): Promise<Partial<RunView>> {
    if (row.result === 'none') return {};
    if (row.result === 'stored') {
      const text = await this.#options.store.readFrozen(row.commandId);
      return { result: text === null ? null : JSON.parse(text) };
    }
    return {
      result_truncated: true,
      result_chars: row.resultChars ?? null,
      result_limit_chars: RESULT_ENVELOPE_CHARS,
    };
  }
}

/** Callers see an offered command as queued: nobody knows yet whether the desktop has it. */
function visible({ status }: CommandRow): VisibleStatus {
  return status === 'offered' ? 'queued' : status;
}

function timingOf(row: CommandRow): RunTiming {
  const { queuedAt, offeredAt, startedAt, finishedAt } = row;
  return {
    queued_at: isoOf(queuedAt),
    offered_at: offeredAt === null ? null : isoOf(offeredAt),
    started_at: startedAt === null ? null : isoOf(startedAt),
    finished_at: finishedAt === null ? null : isoOf(finishedAt),
    pickup_ms: startedAt === null ? null : startedAt - queuedAt,
    run_ms: startedAt === null || finishedAt === null || !hasEnded(row.status) ? null : finishedAt - startedAt,
    transport: row.transport,
  };
}

function isoOf(at: number): string {
  return new Date(at).toISOString();
}
