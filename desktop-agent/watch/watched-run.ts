/**
 * One run as it is watched: what its events have told so far.
 *
 * Owns how an event changes the picture. A picture is a value: an event gives a new one.
 */
import type { GraphEvent } from '../run-events.ts';
import type { RunSummary } from '../runs/record-reader.ts';
import type { FeedEvent } from '../runs/run-feed.ts';

/** An agent, a tool or a called Graph at work. */
export interface Activity {
  readonly key: string;
  readonly label: string;
  readonly startedAt: number;
  /** Null while it goes on. */
  readonly ended: { readonly at: number; readonly ok: boolean; readonly error: string | null } | null;
}

export interface WatchedRun {
  readonly commandId: string;
  /** Slug, or file name; empty until it is known. */
  readonly graph: string;
  readonly version: number | null;
  readonly status: RunSummary['status'];
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly phase: string | null;
  readonly log: string | null;
  readonly wave: number;
  readonly agents: {
    readonly started: number;
    readonly ended: number;
    readonly failed: number;
    readonly refused: number;
  };
  readonly tokens: number;
  readonly cost: number | null;
  readonly error: string | null;
  /** Those that go on, and the last of those that ended. */
  readonly activities: readonly Activity[];
}

/** Of a run's work that has ended, so much is remembered. */
const ENDED_KEPT = 10;

const NO_AGENTS = { started: 0, ended: 0, failed: 0, refused: 0 };

export function runOfSummary(summary: RunSummary): WatchedRun {
  return {
    ...emptyRun(summary.command_id, Date.parse(summary.started_at)),
    graph: summary.graph,
    version: summary.version,
    status: summary.status,
    endedAt: summary.ended_at === null ? null : Date.parse(summary.ended_at),
    tokens: summary.total_tokens,
    cost: summary.reported_cost,
    error: summary.error,
  };
}

export function emptyRun(commandId: string, startedAt: number): WatchedRun {
  return {
    commandId,
    graph: '',
    version: null,
    status: 'running',
    startedAt,
    endedAt: null,
    phase: null,
    log: null,
    wave: 0,
    agents: NO_AGENTS,
    tokens: 0,
    cost: null,
    error: null,
    activities: [],
  };
}

/** What is said of the run itself, by somebody who knows it better than the events so far. */
export function withSummary(run: WatchedRun, summary: RunSummary): WatchedRun {
  const { graph, version, startedAt } = runOfSummary(summary);
  return { ...run, graph, version, startedAt };
}

export function isOver({ status }: WatchedRun): boolean {
  return status !== 'running' && status !== 'awaiting_approval';
}

export function withEvent(run: WatchedRun, { at_ms: at, event }: Pick<FeedEvent, 'at_ms' | 'event'>): WatchedRun {
  switch (event.type) {
    case 'fleet_started':
      // Everything is told again from here on.
      return { ...emptyRun(run.commandId, at), graph: run.graph, version: run.version };
    case 'phase':
      return { ...run, phase: event.title };
    case 'log':
      return { ...run, log: event.message };
    case 'wave_started':
      return { ...run, wave: event.wave };
    case 'agent_refused':
      return { ...run, agents: { ...run.agents, refused: run.agents.refused + 1 }, log: event.reason };
    case 'approval_asked':
      return { ...run, status: 'awaiting_approval' };
    case 'approval_decided':
      return { ...run, status: 'running' };
    case 'finished': {
      const { status, tokens, cost, error } = event;
      return { ...run, status, tokens, cost, error, endedAt: at, activities: [] };
    }
    case 'tool_refused':
    case 'graph_refused':
      return { ...run, log: event.reason };
    case 'retry_waits':
      return { ...run, log: `attempt ${event.attempt} of ${event.attempts} failed: ${event.error}` };
    case 'wave_finished':
      return run;
    default:
      return withActivity(run, at, event);
  }
}

type Worked = Extract<GraphEvent, { type: `${'agent' | 'tool' | 'graph'}_${'started' | 'finished'}` }>;

function withActivity(run: WatchedRun, at: number, event: Worked): WatchedRun {
  switch (event.type) {
    case 'agent_started': {
      const label = event.model === null ? event.label : `${event.label} (${event.model})`;
      const agents = { ...run.agents, started: run.agents.started + 1 };
      return begun({ ...run, agents }, { key: `agent ${event.agent}`, label, startedAt: at });
    }
    case 'agent_finished': {
      const { ok, tokens, cost, error } = event;
      const { ended, failed } = run.agents;
      const agents = { ...run.agents, ended: ended + 1, failed: failed + (ok ? 0 : 1) };
      const paid = { tokens: run.tokens + tokens, cost: cost === null ? run.cost : (run.cost ?? 0) + cost };
      return done({ ...run, ...paid, agents }, `agent ${event.agent}`, { at, ok, error });
    }
    case 'tool_started':
      return begun(run, { key: `tool ${event.call}`, label: event.tool, startedAt: at });
    case 'tool_finished':
      return done(run, `tool ${event.call}`, { at, ok: event.ok, error: event.error });
    case 'graph_started':
      return begun(run, { key: `graph ${event.graph}`, label: `Graph ${event.slug}`, startedAt: at });
    case 'graph_finished':
      return done(run, `graph ${event.graph}`, { at, ok: event.ok, error: event.error });
  }
}

function begun(run: WatchedRun, activity: Omit<Activity, 'ended'>): WatchedRun {
  return { ...run, activities: [...run.activities, { ...activity, ended: null }] };
}

function done(run: WatchedRun, key: string, ended: NonNullable<Activity['ended']>): WatchedRun {
  const found = run.activities.find((each) => each.key === key);
  if (found === undefined) return run;
  const others = run.activities.filter((each) => each !== found);
  const over = others.filter((each) => each.ended !== null).slice(-(ENDED_KEPT - 1));
  return { ...run, activities: [...others.filter((each) => each.ended === null), ...over, { ...found, ended }] };
}
