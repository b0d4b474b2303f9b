/**
 * What this desktop has begun, and how it ended: the reason why no command runs twice here.
 *
 * Owns the rows of table `execution`, and the one write that moves a run from "started" to "in the outbox".
 */
import { Backoff } from '../protocol/backoff.ts';
import { asRelayError } from '../protocol/errors.ts';
import type { Ports, StateStore, StoreChange } from '../protocol/ports.ts';
import { pause } from '../protocol/waiting.ts';
import { completionOf } from './completion.ts';
import type { RunOutcome } from './ports.ts';
import type { DesktopTables, ExecutionRow, OutboxRow } from './rows.ts';

/** Finished executions that are remembered, so that a very late second offer is known as such. */
const REMEMBERED_EXECUTIONS = 1_000;

export interface ExecutionIds {
  readonly commandId: string;
  readonly executionId: string;
}

export class ExecutionJournal {
  readonly #store: StateStore<DesktopTables>;
  readonly #ports: Ports;
  /** Begun by the process before this one, and not ended. Whether they were allowed to run is settled by `recovery.ts`. */
  readonly #inDoubt: Map<string, ExecutionIds>;

  constructor(options: { store: StateStore<DesktopTables>; ports: Ports }) {
    this.#store = options.store;
    this.#ports = options.ports;
    const begun = [...this.#store.rows('execution').values()].filter(({ phase }) => phase === 'started');
    this.#inDoubt = new Map(begun.map((row) => [row.commandId, row]));
  }

  inDoubt(): ExecutionIds[] {
    return [...this.#inDoubt.values()];
  }

  /** True when this command was begun here before. */
  has(commandId: string): boolean {
    return this.#store.rows('execution').has(commandId);
  }

  /** Resolves when it is on disk that the run begins. Nothing may run before. */
  begin(ids: ExecutionIds): Promise<void> {
    const row: ExecutionRow = { ...ids, phase: 'started', at: this.#ports.clock.now() };
    return this.#store.commit([{ table: 'execution', id: ids.commandId, row }]);
  }

  /** The run was not begun after all. Nobody waits for this: an entry too many is settled by the next recovery. */
  forget(commandId: string): void {
    this.#inDoubt.delete(commandId);
    this.#store.commit([{ table: 'execution', id: commandId, row: null }]).catch(() => {});
  }

  /** Writes the end of a run and its outbox entry in one go. Resolves with the entry when both are on disk. */
  async finish(ids: ExecutionIds, outcome: RunOutcome): Promise<OutboxRow> {
    const { changes, row } = this.#finishChanges(ids, outcome);
    await this.#untilWritten(this.#store.commit([...changes, ...this.#forgetOldest()]));
    this.#inDoubt.delete(ids.commandId);
    return row;
  }

  #finishChanges({ commandId, executionId }: ExecutionIds, outcome: RunOutcome) {
    const now = this.#ports.clock.now();
    const completion = completionOf({ commandId, executionId }, outcome);
    const row: OutboxRow = { commandId, executionId, completion, finishedAt: now, refused: null };
    const execution: ExecutionRow = { commandId, executionId, phase: 'finished', at: now };
    const changes: StoreChange<DesktopTables>[] = [
      { table: 'execution', id: commandId, row: execution },
      { table: 'outbox', id: executionId, row },
    ];
    return { changes, row };
  }

  #forgetOldest(): StoreChange<DesktopTables>[] {
    const rows = this.#store.rows('execution');
    if (rows.size < REMEMBERED_EXECUTIONS * 2) return [];
    const finished = [...rows.values()].filter((row) => row.phase === 'finished').sort((a, b) => a.at - b.at);
    return finished
      .slice(0, -REMEMBERED_EXECUTIONS)
      .map((row) => ({ table: 'execution', id: row.commandId, row: null }) as const);
  }

  /** A completion is on disk before it is posted, however long the disk refuses: the store keeps trying meanwhile. */
  async #untilWritten(written: Promise<void>): Promise<void> {
    const backoff = new Backoff(this.#ports.random);
    const forever = new AbortController().signal;
    let attempt = written;
    for (;;) {
      try {
        await attempt;
        return;
      } catch (error) {
        this.#ports.log.error('outbox.not-written', { reason: asRelayError(error).message });
        await pause(this.#ports.clock, backoff.next(), forever);
        attempt = this.#store.synced();
      }
    }
  }
}

export function cancelledOutcome(error: string): RunOutcome {
  return { ...failedOutcome(error), status: 'cancelled' };
}

export function failedOutcome(error: string): RunOutcome {
  return { status: 'failed', resultJson: null, error, totalTokens: 0, reportedCost: null };
}
