/**
 * The ports that only the desktop has: the engine that runs a Graph, the dialer that reaches the relay.
 *
 * Owns the shapes only; see `protocol/ports.ts` for the ports that both sides share.
 */
import type {
  CompleteAnswer,
  CompleteInput,
  ControlAnswer,
  ControlInput,
  OfferedCommand,
  ProbeAnswer,
  ProbeInput,
  SyncAnswer,
  SyncInput,
} from '../protocol/schemas.ts';
import type { GraphEvent } from './run-events.ts';

/** One run of a Graph. */
export interface GraphRun {
  /** The command that asked for it; a UUID in lower case. */
  readonly commandId: string;
  /** This run of the command; a UUID in lower case. */
  readonly executionId: string;
  /** Where the run's events belong: `graph:external:<command_id>`. */
  readonly channel: string;
  /** What to call the Graph in messages, for example its file name. */
  readonly name: string;
  /** The Graph's whole source text. */
  readonly source: string;
  /** The caller's arguments: a JSON object. */
  readonly args: Readonly<Record<string, unknown>>;
  /** The command as it was offered; left out when nobody asked but the owner. */
  readonly asked?: Pick<OfferedCommand, 'project_id' | 'graph_session_id' | 'slug' | 'queued_at_ms'>;
  /** Called for each event of the run, in order. Must not throw. */
  readonly onEvent: (event: GraphEvent) => void;
  /** Called, maybe again and again, when {@link RunningGraph.openRetries} may have become a number. Must not throw. */
  readonly onQuiet?: () => void;
}

/** How a run ended. */
export interface RunOutcome {
  readonly status: 'completed' | 'failed' | 'cancelled';
  /** The value that the Graph returned, as JSON text; null unless completed. An `undefined` return value is `null` here. */
  readonly resultJson: string | null;
  /** Why it failed or was cancelled, for a person; null when completed. */
  readonly error: string | null;
  /** Tokens that all agents of the run used together. */
  readonly totalTokens: number;
  /** What the providers said the run cost, in US dollars; null when none said so. */
  readonly reportedCost: number | null;
}

export interface RunningGraph {
  /** Resolves when the run is over, always; it never rejects. */
  readonly done: Promise<RunOutcome>;
  /** Stops the Graph and its agents. The outcome is then `cancelled` with this reason, unless it had ended before. */
  cancel(reason: string): void;
  /**
   * Null while a Graph of the run computes. A number while each of them waits and has seen all that it was told: nothing
   * happens until an agent or a tool answers, or one of this many waits of `retry` is over. A replay decides then who is
   * answered.
   */
  openRetries?(): number | null;
}

export interface Engine {
  start(run: GraphRun): RunningGraph;
  /** Stops what still runs and gives back workers. */
  close(): Promise<void>;
}

/** One call's options. */
export interface CallOptions {
  /** Aborted when the answer is not wanted any more. */
  readonly signal: AbortSignal;
}

/**
 * The calls to the relay, over whatever transport. Each rejects with a `RelayError`, whose code says what to do
 * next; a deadline of the granted hold plus a margin is part of the dialer.
 */
export interface Dialer {
  sync(input: SyncInput, options: CallOptions): Promise<SyncAnswer>;
  control(input: ControlInput, options: CallOptions): Promise<ControlAnswer>;
  complete(input: CompleteInput, options: CallOptions): Promise<CompleteAnswer>;
  probe(input: ProbeInput, options: CallOptions): Promise<ProbeAnswer>;
  /** The connections that are there may be dead, or lead the old way: the next call uses a new one. */
  renew?(): void;
}
