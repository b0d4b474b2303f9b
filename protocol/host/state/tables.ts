/**
 * Rows by table and id, in memory.
 *
 * Owns the maps and how a batch changes them, the same for every store. Maps throughout: ids come from outside, and
 * `__proto__` is an id like any other. Must not know how rows become durable.
 */
import type { StoreChange, TableShapes } from '../../ports.ts';

/** A change without the types of one store, as it comes back from a journal. */
export type AnyChange = StoreChange<TableShapes>;

/** Rows by table, each in the order in which it was first put. Lists, since an object would reorder some keys. */
export type TableEntries = readonly (readonly [table: string, rows: readonly (readonly [id: string, row: object])[]])[];

export class StateTables {
  readonly #tables = new Map<string, Map<string, object>>();
  readonly #declared: ReadonlySet<string> | null;

  /** With `declared`, other tables are a mistake of the caller; tables of another version are kept all the same. */
  constructor(declared: readonly string[] | null, entries: TableEntries = []) {
    this.#declared = declared === null ? null : new Set(declared);
    for (const [table, rows] of entries) this.#tables.set(table, new Map(rows));
  }

  rows(table: string): ReadonlyMap<string, object> {
    this.#check(table);
    return this.#table(table);
  }

  /** Throws before anything is changed when a change names a table that was not declared. */
  check(changes: readonly AnyChange[]): void {
    for (const change of changes) if (!('frozen' in change)) this.#check(change.table);
  }

  put(table: string, id: string, row: object | null): void {
    if (row === null) this.#table(table).delete(id);
    else this.#table(table).set(id, row);
  }

  /** A copy that later changes do not reach. The rows themselves are shared: they never change in place. */
  entries(): TableEntries {
    return [...this.#tables].map(([table, rows]) => [table, [...rows]] as const);
  }

  #table(name: string): Map<string, object> {
    let rows = this.#tables.get(name);
    if (rows === undefined) {
      rows = new Map();
      this.#tables.set(name, rows);
    }
    return rows;
  }

  #check(table: string): void {
    if (this.#declared?.has(table) === false) throw new TypeError(`This store has no table "${table}".`);
  }
}

/** Where frozen texts go: into memory, or into memory first and files later. */
export interface TextSink {
  put(id: string, text: string | null): void;
}

/** Applies one batch, in its order. */
export function applyChanges(changes: readonly AnyChange[], tables: StateTables, texts: TextSink): void {
  for (const change of changes) {
    if ('frozen' in change) texts.put(change.frozen, change.text);
    else tables.put(change.table, change.id, change.row);
  }
}
