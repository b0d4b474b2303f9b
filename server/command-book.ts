/**
 * The commands: the one place where a command's row is written, and the indexes over the rows.
 *
 * Owns the rows of table `command` and their order. Decides nothing: what an event does is the state machine's table,
 * and who is told is up to the listeners.
 */
import type { TransportName } from '../protocol/api.ts';
import { getOrMake } from '../protocol/collections.ts';
import {
  type CommandEvent,
  type CommandStatus,
  hasEnded,
  isWaiting,
  newLife,
  type Transition,
  transition,
} from '../protocol/command-machine.ts';
import type { Clock, Log, StateStore, StoreChange } from '../protocol/ports.ts';
import type { CommandRow, RelayTables } from './rows.ts';

export interface CommandChange {
  readonly row: CommandRow;
  /** Null when the command is new. */
  readonly before: CommandStatus | null;
  readonly effects: Transition['effects'];
}

export interface Applied {
  readonly row: CommandRow;
  readonly changed: boolean;
  /** Resolves when the change is on disk. */
  readonly durable: Promise<void>;
}

const DONE = Promise.resolve();

/** What a row has where a crash or an older version left nothing. Whether it ever ran is not known then, so it must not. */
const BLANK: Omit<CommandRow, 'commandId'> = {
  ...newLife(0),
  status: 'lost',
  agentId: '',
  projectId: '',
  graphSessionId: '',
  desktopId: '',
  slug: '',
  arguments: {},
  idempotencyKey: '',
  requestHash: '',
  sequence: 0,
  startBy: 0,
  transport: null,
};

export class CommandBook {
  readonly #store: StateStore<RelayTables>;
  readonly #clock: Clock;
  readonly #listeners: ((change: CommandChange) => void)[] = [];
  /** Waiting and running commands of each desktop, in the order of queueing. */
  readonly #live = new Map<string, Map<string, CommandRow>>();
  /** Waiting commands of each project. */
  readonly #waitingIn = new Map<string, Set<string>>();
  /** Ended commands, the first that ended first. */
  readonly #finished = new Map<string, CommandRow>();
  readonly #byKey = new Map<string, Map<string, string>>();
  #sequence = 0;

  constructor(options: { store: StateStore<RelayTables>; clock: Clock; log: Log }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#repair(options.log);
    const rows = [...this.#store.rows('command').values()].sort((a, b) => a.sequence - b.sequence);
    const ended = rows.filter((row) => hasEnded(row.status)).sort((a, b) => (a.finishedAt ?? 0) - (b.finishedAt ?? 0));
    for (const row of rows) if (!hasEnded(row.status)) this.#index(row);
    for (const row of ended) this.#index(row);
  }

  /** Fills in what is missing, so that one bad row cannot be in the way of reading, cancelling or of other commands. */
  #repair(log: Log): void {
    for (const [commandId, row] of this.#store.rows('command')) {
      const missing = Object.keys(BLANK).filter((field) => row[field as keyof CommandRow] === undefined);
      if (missing.length === 0) continue;
      log.warn('command.repaired', { command_id: commandId, missing });
      // A run without its arguments would be another run: its time to start is over.
      const startBy = row.arguments === undefined ? 0 : (row.startBy ?? 0);
      const whole: CommandRow = { ...BLANK, ...row, commandId, startBy };
      this.#store.commit([{ table: 'command', id: commandId, row: whole }]).catch(() => {});
    }
  }

  /** Called after each change, in the order of the changes, in the same turn. */
  onChange(listener: (change: CommandChange) => void): void {
    this.#listeners.push(listener);
  }

  get(commandId: string): CommandRow | null {
    return this.#store.rows('command').get(commandId) ?? null;
  }

  /** The run that this agent started with this key. */
  byKey(agentId: string, key: string): CommandRow | null {
    const commandId = this.#byKey.get(agentId)?.get(key);
    return commandId === undefined ? null : this.get(commandId);
  }

  /** Commands of a desktop that have not ended, in the order of queueing. Do not change the book while iterating. */
  *live(desktopId: string): IterableIterator<CommandRow> {
    yield* this.#live.get(desktopId)?.values() ?? [];
  }

  *allLive(): IterableIterator<CommandRow> {
    for (const rows of this.#live.values()) yield* rows.values();
  }

  /** How many commands of this desktop wait, up to (not with) `before` when it is given. */
  waitingAhead(desktopId: string, before?: CommandRow): number {
    let count = 0;
    for (const row of this.live(desktopId)) {
      if (before !== undefined && row.sequence >= before.sequence) break;
      if (isWaiting(row.status)) count++;
    }
    return count;
  }

  /** How many commands of this project wait, on all desktops. */
  waitingIn(projectId: string): number {
    return this.#waitingIn.get(projectId)?.size ?? 0;
  }

  /** Ended commands in the order in which they ended. Do not change the book while iterating. */
  *finished(): IterableIterator<CommandRow> {
    yield* this.#finished.values();
  }

  get finishedCount(): number {
    return this.#finished.size;
  }

  /** Removes ended commands with their results and keys, in one commit. Nobody waits for it. */
  forget(rows: readonly CommandRow[]): void {
    const changes = rows.flatMap(({ commandId, result }): StoreChange<RelayTables>[] => [
      { table: 'command', id: commandId, row: null },
      ...(result === 'stored' ? [{ frozen: commandId, text: null }] : []),
    ]);
    this.#store.commit(changes).catch(() => {});
    for (const { agentId, commandId, idempotencyKey } of rows) {
      this.#finished.delete(commandId);
      const keys = this.#byKey.get(agentId);
      if (keys?.get(idempotencyKey) === commandId) keys.delete(idempotencyKey);
    }
  }

  nextSequence(): number {
    return this.#sequence + 1;
  }

  add(row: CommandRow): Applied {
    return this.#put({ row, before: null, effects: [] }, []);
  }

  /** Applies the event to the command as it is now. `frozenResult` is kept when the machine says so. */
  apply(
    commandId: string,
    event: CommandEvent,
    extra: { transport?: TransportName; frozenResult?: string } = {},
  ): Applied {
    const row = this.get(commandId);
    if (row === null) throw new Error(`there is no command ${commandId}`);
    const { life, changed, effects } = transition(row, event, this.#clock.now());
    if (!changed) return { row, changed, durable: DONE };
    const next: CommandRow = { ...row, ...life, transport: extra.transport ?? row.transport };
    const frozen: StoreChange<RelayTables>[] =
      effects.includes('store-result') && extra.frozenResult !== undefined
        ? [{ frozen: commandId, text: extra.frozenResult }]
        : [];
    return this.#put({ row: next, before: row.status, effects }, frozen);
  }

  #put(change: CommandChange, frozen: StoreChange<RelayTables>[]): Applied {
    const { row } = change;
    const durable = this.#store.commit([{ table: 'command', id: row.commandId, row }, ...frozen]);
    // Whoever has to wait for the disk does so through `durable` or `synced()`; a refused write is kept by the store.
    durable.catch(() => {});
    this.#index(row);
    for (const listener of this.#listeners) listener(change);
    return { row, changed: true, durable };
  }

  #index(row: CommandRow): void {
    this.#sequence = Math.max(this.#sequence, row.sequence);
    getOrMake(this.#byKey, row.agentId, () => new Map<string, string>()).set(row.idempotencyKey, row.commandId);
    const live = getOrMake(this.#live, row.desktopId, () => new Map<string, CommandRow>());
    if (hasEnded(row.status)) live.delete(row.commandId);
    else live.set(row.commandId, row);
    const waiting = getOrMake(this.#waitingIn, row.projectId, () => new Set<string>());
    if (isWaiting(row.status)) waiting.add(row.commandId);
    else waiting.delete(row.commandId);
    this.#finished.delete(row.commandId);
    if (hasEnded(row.status)) this.#finished.set(row.commandId, row);
  }
}
