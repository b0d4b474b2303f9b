/**
 * The Graphs that a recorded run called, as they were then. One that it did not call is taken from where Graphs are now.
 */
import type { GraphShelf, ShelvedGraph } from '../engine/graph-shelf.ts';
import type { RunRecord } from './record-reader.ts';

export interface RecordedShelf extends GraphShelf {
  /** What was taken from where Graphs are now. */
  readonly fromNow: ReadonlySet<string>;
}

export function recordedShelf({ nested, events }: RunRecord, now: GraphShelf): RecordedShelf {
  const fromNow = new Set<string>();
  const unknown = new Set(events.flatMap(({ event }) => (event.type === 'graph_refused' ? [event.slug] : [])));

  async function find(reference: string): Promise<ShelvedGraph | null> {
    const line = nested.find(({ references }) => references.includes(reference));
    if (line !== undefined) {
      const { slug, version, file_name: name, source } = line;
      return { slug, version, name, source };
    }
    // There was none then, and the run was told so.
    if (unknown.has(reference)) return null;
    const found = await now.find(reference);
    if (found !== null) fromNow.add(found.slug);
    return found;
  }

  return { find, fromNow };
}
