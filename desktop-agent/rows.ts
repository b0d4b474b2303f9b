/** The rows that a desktop keeps. Plain JSON values; a change is a new object. */
import type { ArgumentsSchema } from '../protocol/arguments-schema.ts';
import type { CompleteInput } from '../protocol/schemas.ts';

/** The durable identity of one Graph file. It survives edits, restarts, and a rename that keeps the content. */
export interface SessionRow {
  readonly graphSessionId: string;
  /** Name of the file in the Graph folder. */
  readonly fileName: string;
  /** Counts the edits, from 1. */
  readonly version: number;
  /** SHA-256 of the content that `version` counts. */
  readonly contentHash: string;
  /** As the file said when it parsed last; a file that is broken for a moment keeps them. */
  readonly name: string;
  readonly description: string;
  readonly slug: string;
  /** JSON Schema of the arguments, if it has one. */
  readonly argumentsSchema?: ArgumentsSchema;
}

/** What the owner shares with one project. A project without a row is disabled. */
export interface ProjectShareRow {
  readonly projectId: string;
  readonly sessionIds: readonly string[];
}

/** The journal: what this desktop has begun. A command that stands here is never run again. */
export interface ExecutionRow {
  readonly commandId: string;
  readonly executionId: string;
  readonly phase: 'started' | 'finished';
  /** Epoch milliseconds of the last change. */
  readonly at: number;
}

/** A completion that the relay does not have yet, by execution. */
export interface OutboxRow {
  readonly executionId: string;
  readonly commandId: string;
  readonly completion: Omit<CompleteInput, 'capacity'>;
  readonly finishedAt: number;
  /** Why the relay will never take it; null while it may. A refused one is kept for the owner to see. */
  readonly refused: string | null;
}

/** One start of this desktop's process. */
export interface InstanceRow {
  readonly instanceId: string;
  /** Counts the starts, from 1. The clock would not do: it may have been set back. */
  readonly start: number;
}

/** Why the desktop ended by itself the last time it ran; no row when it was stopped, crashed, or runs again. */
export interface EndRow {
  /** The relay's final error: an exit code's name. */
  readonly code: string;
  /** What the relay said, for the owner. */
  readonly reason: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** What the owner has decided about a tool, or about all whose names fit a pattern; the row's id is the pattern. */
export interface PermissionRow {
  /** `server.tool`, or what it begins with and a `*`. */
  readonly pattern: string;
  readonly rule: 'allow' | 'ask' | 'deny';
  /** When it was decided, epoch milliseconds. */
  readonly at: number;
}

/** The only row of table `end`. */
export const LAST_END = 'last';

/** The owner has paused the desktop; no row while it takes commands. */
export interface PauseRow {
  /** Epoch milliseconds. */
  readonly at: number;
}

/** The only row of table `pause`. */
export const THE_PAUSE = 'pause';

export type DesktopTables = {
  instance: InstanceRow;
  session: SessionRow;
  share: ProjectShareRow;
  execution: ExecutionRow;
  outbox: OutboxRow;
  end: EndRow;
  pause: PauseRow;
  permission: PermissionRow;
};

export const DESKTOP_TABLES = [
  'instance',
  'session',
  'share',
  'execution',
  'outbox',
  'end',
  'pause',
  'permission',
] as const;
