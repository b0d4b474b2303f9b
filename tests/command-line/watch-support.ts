/** A desktop that is watched, as a script: what it does is said by the test. */
import type { AgentSnapshot } from '../../desktop-agent/agent.ts';
import type { GraphEvent } from '../../desktop-agent/run-events.ts';
import type { RunSummary } from '../../desktop-agent/runs/record-reader.ts';
import type { FeedAnswer, FeedEvent } from '../../desktop-agent/runs/run-feed.ts';
import type { OpenApproval } from '../../desktop-agent/tools/approvals.ts';
import type { Intent } from '../../desktop-agent/watch/watch-state.ts';
import type { WatchedDesktop } from '../../desktop-agent/watch/watching.ts';

export const NOW = Date.parse('2026-01-01T12:00:00Z');

/** The id of a run that begins with these letters. */
export function runId(letters: string): string {
  return `${letters.padEnd(8, '0')}-0000-4000-8000-000000000000`;
}

export function snapshot(changes: Partial<AgentSnapshot> = {}): AgentSnapshot {
  return {
    transport: { transport: 'long-poll', reason: '', hold_ms: 20_000, holds_cut: 0, retry_in_ms: null },
    connected: true,
    trouble: null,
    epoch: 1,
    held: { since: new Date(NOW - 12_300).toISOString(), hold_ms: 20_000 },
    running: 1,
    paused_since: null,
    limits: { slots: 2, hold_ms: 20_000 },
    holding: [],
    outbox: { pending: 0, refused: [] },
    refusedProjects: [],
    ...changes,
  };
}

export function summary(letters: string, changes: Partial<RunSummary> = {}): RunSummary {
  return {
    command_id: runId(letters),
    execution_id: runId('e'),
    status: 'running',
    project_id: 'home',
    graph_session_id: null,
    graph: 'report',
    version: 3,
    started_at: new Date(NOW - 63_000).toISOString(),
    ended_at: null,
    duration_ms: 0,
    total_tokens: 0,
    reported_cost: null,
    error: null,
    result_chars: null,
    waits_for: null,
    incomplete: false,
    ...changes,
  };
}

let lastSeq = 0;

/** Each some seconds before {@link NOW}. */
export function happened(letters: string, event: GraphEvent, secondsAgo = 5): FeedEvent {
  lastSeq += 1;
  const command_id = runId(letters);
  return { seq: lastSeq, n: lastSeq, command_id, at_ms: NOW - secondsAgo * 1_000, after_ms: 0, event };
}

export function question(approval: string, letters: string, changes: Partial<OpenApproval> = {}): OpenApproval {
  const asked = { command_id: runId(letters), run_id: 'r', tool: 'files.write', input: { path: 'a.md' } };
  return { approval, ...asked, asked_at_ms: NOW - 12_000, ...changes };
}

/** Answers with what is set; a feed that is null is a desktop that does not run. */
export class ScriptedDesktop implements WatchedDesktop {
  feed: string | null = null;
  readonly all: FeedEvent[] = [];
  summaries: RunSummary[] = [];
  open: OpenApproval[] = [];
  readonly did: unknown[] = [];
  refusal: Error | null = null;
  #readers: (() => void)[] = [];

  tell(...events: FeedEvent[]): void {
    for (const event of events) this.all.push({ ...event, seq: this.all.length + 1 });
    this.wake();
  }

  wake(): void {
    for (const read of this.#readers.splice(0)) read();
  }

  /** The process is gone, and what it knew. */
  stop(): void {
    this.feed = null;
    this.all.length = 0;
    this.wake();
  }

  async status(): Promise<AgentSnapshot> {
    this.#mustRun();
    return snapshot();
  }

  async runs(): Promise<RunSummary[]> {
    this.#mustRun();
    return this.summaries;
  }

  async events({ after }: { after: number }): Promise<FeedAnswer> {
    const seen = Math.min(after, this.all.length);
    if (this.all.length === seen) await new Promise<void>((done) => this.#readers.push(done));
    const feed = this.#mustRun();
    const events = this.all.slice(seen);
    return { feed, events, next: this.all.length, missed: 0, ended: false };
  }

  async approvals(): Promise<OpenApproval[]> {
    this.#mustRun();
    return this.open;
  }

  async decide(intent: Intent & { do: 'decide' }): Promise<void> {
    if (this.refusal !== null) throw this.refusal;
    this.did.push(intent);
    this.open = this.open.filter(({ approval }) => approval !== intent.approval);
  }

  async cancel(commandId: string): Promise<void> {
    this.did.push({ do: 'cancel', commandId });
  }

  #mustRun(): string {
    if (this.feed === null) throw new Error('it does not run');
    return this.feed;
  }
}
