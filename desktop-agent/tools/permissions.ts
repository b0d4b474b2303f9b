/**
 * What the owner allows: for each tool, or for all that a pattern stands for, allow, ask or deny.
 *
 * Owns the rows of table `permission`. The most specific one that fits counts, and no two are equally specific. What nobody
 * has decided is asked.
 */
import { z } from 'zod';
import type { Clock, StateStore } from '../../protocol/ports.ts';
import type { DesktopTables, PermissionRow } from '../rows.ts';
import { matches, specificity } from './tool-names.ts';

export const permissionRuleSchema = z.enum(['allow', 'ask', 'deny']);
export type PermissionRule = z.infer<typeof permissionRuleSchema>;

export interface Permission {
  readonly rule: PermissionRule;
  /** Which of the owner's entries says so; null when none does. */
  readonly pattern: string | null;
}

export class Permissions {
  readonly #store: StateStore<DesktopTables>;
  readonly #clock: Clock;

  constructor(options: { store: StateStore<DesktopTables>; clock: Clock }) {
    this.#store = options.store;
    this.#clock = options.clock;
  }

  of(tool: string): Permission {
    const [first] = this.list().filter(({ pattern }) => matches(pattern, tool));
    return first === undefined ? { rule: 'ask', pattern: null } : { rule: first.rule, pattern: first.pattern };
  }

  /** All entries, those first that come before others. */
  list(): PermissionRow[] {
    const before = ({ pattern: a }: PermissionRow, { pattern: b }: PermissionRow) =>
      specificity(b) - specificity(a) || (a < b ? -1 : 1);
    return [...this.#store.rows('permission').values()].sort(before);
  }

  /** Resolves when it is on disk, with whether it was another way before. */
  async set(pattern: string, rule: PermissionRule): Promise<boolean> {
    const before = this.#store.rows('permission').get(pattern);
    const row: PermissionRow = { pattern, rule, at: this.#clock.now() };
    await this.#store.commit([{ table: 'permission', id: pattern, row }]);
    return before?.rule !== rule;
  }

  /** Takes an entry back: what the others say counts again. False when there was none. */
  async forget(pattern: string): Promise<boolean> {
    if (!this.#store.rows('permission').has(pattern)) return false;
    await this.#store.commit([{ table: 'permission', id: pattern, row: null }]);
    return true;
  }
}
