/** The Graphs of this desktop as a shelf for Graphs that call each other. They need not be shared. */
import type { GraphShelf } from './engine/graph-shelf.ts';
import { type GraphLibrary, sessionNamed } from './graph-library.ts';

export function libraryShelf(library: GraphLibrary): GraphShelf {
  return {
    async find(reference) {
      const found = sessionNamed(library.list(), reference);
      if (found === null) return null;
      const graph = await library.load(found.graph_session_id);
      if (graph === null) return null;
      // Reading it may have found a new version.
      const { slug, version } = sessionNamed(library.list(), found.graph_session_id) ?? found;
      return { ...graph, slug, version };
    },
  };
}
