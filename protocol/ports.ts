/**
 * The ports: everything that production code takes from outside instead of reaching for it.
 *
 * Owns the shapes only. Adapters live in `protocol/host/` (real machine) and in `bench/sim/` (virtual time); nothing
 * here may import an adapter. Ports are passed in and never kept in a module variable: many desktops live in one
 * process in the simulation.
 */

/** A timer that was armed with {@link Clock.after}. */
export interface Timer {
  /** Disarms the timer. Calling it twice, or after the timer fired, does nothing. */
  cancel(): void;
}

/**
 * Time. A timer is a hint: what must hold is stored as an instant and checked when it matters, because a timer may
 * fire late (a suspended machine) or early (a stepped clock).
 */
export interface Clock {
  /** Wall clock, epoch milliseconds. May jump in both directions; for instants that are stored or shown. */
  now(): number;
  /** Milliseconds since some fixed moment, never going back. For durations and deadlines inside one process. */
  monotonic(): number;
  /** Calls `run` once, `delayMs` from now (at once when it is zero or negative, but never before returning). */
  after(delayMs: number, run: () => void): Timer;
}

/** Chance, for jitter. Never for secrets: those come from {@link Ids}. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
}

/** Identities and secrets. */
export interface Ids {
  /** A version 4 UUID in lower case. */
  uuid(): string;
  /** `bytes` unguessable bytes as lower-case hexadecimal digits. */
  hex(bytes: number): string;
}

export type LogFields = Readonly<Record<string, unknown>>;

/**
 * One line per event. `event` is a stable dotted name (`command.started`), fields carry ids and durations. Tokens,
 * arguments and results never go in.
 */
export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

export interface Ports {
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: Log;
}

/** Rows by table name. Rows are plain JSON values and are never changed in place: a change is a new object. */
export type TableShapes = Record<string, object>;

/**
 * One change of a store: a row put (`row`) or removed (`row: null`), or a frozen text. Frozen texts are large values
 * that are written once (results of finished runs); they live outside the rows and are read only when asked for.
 */
export type StoreChange<Tables extends TableShapes> =
  | {
      [T in keyof Tables & string]: { readonly table: T; readonly id: string; readonly row: Tables[T] | null };
    }[keyof Tables & string]
  | { readonly frozen: string; readonly text: string | null };

export interface StoreStatus {
  /** False while commits cannot reach the disk. Commits are kept and tried again, so this heals by itself. */
  readonly writable: boolean;
  /** What is wrong, for a person; null while all is well. May be set while writable: then something can wait. */
  readonly reason: string | null;
}

/**
 * Durable state of one process: tables of rows with atomic batches.
 *
 * `commit` changes the rows at once (read your own writes) and resolves when this batch and everything committed
 * before it would survive a kill and a power cut. When the disk refuses, the promise rejects with `store-unavailable`;
 * the batch is kept in order and written by a later flush, so memory and disk never fork: a caller that was refused
 * may find its change in place later.
 */
export interface StateStore<Tables extends TableShapes> {
  rows<T extends keyof Tables & string>(table: T): ReadonlyMap<string, Tables[T]>;
  commit(changes: readonly StoreChange<Tables>[]): Promise<void>;
  /** Resolves when all that was committed so far is durable. Resolves in the same turn when nothing is pending. */
  synced(): Promise<void>;
  /** The frozen text, or null when there is none under this id. */
  readFrozen(id: string): Promise<string | null>;
  status(): StoreStatus;
  /** Flushes what is pending, writes the state out and gives the lock back. */
  close(): Promise<void>;
}
