/**
 * The starts of this desktop's process, so that each can name the ones before it: a sync of a process that has ended
 * may reach the relay late, and must not pass for a newer desktop.
 *
 * Owns the rows of table `instance`.
 */
import { PREDECESSORS_MAX } from '../protocol/limits.ts';
import type { StateStore } from '../protocol/ports.ts';
import type { DesktopTables } from './rows.ts';

/** Writes this start down. Resolves with the starts before it, the latest first, when it is on disk. */
export async function recordStart(store: StateStore<DesktopTables>, instanceId: string): Promise<string[]> {
  const earlier = [...store.rows('instance').values()].sort((a, b) => b.start - a.start);
  const start = (earlier[0]?.start ?? 0) + 1;
  const forgotten = earlier.slice(PREDECESSORS_MAX);
  await store.commit([
    { table: 'instance', id: instanceId, row: { instanceId, start } },
    ...forgotten.map((row) => ({ table: 'instance', id: row.instanceId, row: null }) as const),
  ]);
  return earlier.slice(0, PREDECESSORS_MAX).map((row) => row.instanceId);
}
