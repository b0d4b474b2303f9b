/**
 * The port behind `graph(ref, args)`: where the Graphs are that a Graph may call.
 *
 * Owns the shape only. A Graph that is called need not be shared: the owner wrote the one that calls it.
 */
export interface ShelvedGraph {
  readonly slug: string;
  /** Counts the edits; null when nobody counts. */
  readonly version: number | null;
  /** What to call it in messages, for example its file name. */
  readonly name: string;
  readonly source: string;
}

export interface GraphShelf {
  /** By slug, session id or file name. Null when there is none, or more than one. */
  find(reference: string): Promise<ShelvedGraph | null>;
}

export const EMPTY_SHELF: GraphShelf = { find: async () => null };
