/**
 * A shelf that remembers what it handed out: the record of a run keeps each Graph that was called as it ran.
 *
 * Owns the memory, which is bounded. The files may be edited while a run goes on, so asking for them later would be
 * wrong.
 */
import type { GraphShelf, ShelvedGraph } from '../engine/graph-shelf.ts';
import { hashOf } from './bounded-event.ts';
import type { NestedLine } from './record-lines.ts';

/** Larger: memory, 256 Ki characters each at most. Smaller: a run that calls more Graphs cannot be replayed whole. */
const REMEMBERED = 100;

/** As the events of a run name it: by what it is when it started, by what it was asked for when it was refused. */
export type CalledGraph = { readonly slug: string; readonly version: number | null } | { readonly reference: string };

export class HandedOutGraphs implements GraphShelf {
  readonly #shelf: GraphShelf;
  /** The latest last. */
  readonly #graphs = new Map<string, { readonly graph: ShelvedGraph; readonly references: Set<string> }>();

  constructor(shelf: GraphShelf) {
    this.#shelf = shelf;
  }

  async find(reference: string): Promise<ShelvedGraph | null> {
    const graph = await this.#shelf.find(reference);
    if (graph !== null) this.#remember(graph, reference);
    return graph;
  }

  /** Null for one that is not remembered. */
  lineOf(called: CalledGraph): NestedLine | null {
    const found = [...this.#graphs.values()].findLast(({ graph, references }) =>
      'reference' in called
        ? references.has(called.reference)
        : graph.slug === called.slug && graph.version === called.version,
    );
    if (found === undefined) return null;
    const { graph, references } = found;
    const { slug, version, name, source } = graph;
    return {
      kind: 'nested',
      slug,
      version,
      file_name: name,
      source,
      sha256: hashOf(source),
      references: [...references],
    };
  }

  #remember(graph: ShelvedGraph, reference: string): void {
    const key = JSON.stringify([graph.slug, graph.version, hashOf(graph.source)]);
    const references = this.#graphs.get(key)?.references ?? new Set();
    this.#graphs.delete(key);
    this.#graphs.set(key, { graph, references: references.add(reference) });
    const [oldest] = this.#graphs.keys();
    if (oldest !== undefined && this.#graphs.size > REMEMBERED) this.#graphs.delete(oldest);
  }
}
