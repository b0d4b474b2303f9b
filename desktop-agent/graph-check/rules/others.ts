/** A Graph beside the others of its folder: those that it calls, and one that has the same slug. */
import type { GraphMeta } from '../../engine/graph-meta.ts';
import type { Finding } from '../problem.ts';
import { type AnyNode, argumentOf, calleeOf, entryOf, type Placed, textOf } from '../tree.ts';
import type { FreeNames } from './names.ts';

export interface OtherGraph {
  readonly slug: string;
  readonly file_name: string;
  readonly graph_session_id: string;
}

export function* checkSlug(meta: GraphMeta, literal: AnyNode, others: readonly OtherGraph[]): Generator<Finding> {
  const same = others.find(({ slug }) => slug === meta.slug);
  if (same === undefined) return;
  const at = (entryOf(literal, ['slug']) ?? literal).start;
  const message = `${same.file_name} has the slug \`${same.slug}\` too: neither can be named by it`;
  yield { rule: 'slug', severity: 'warning', at, message };
}

/** `graph('slug')`, where there is no such Graph. A reference that is computed cannot be looked up. */
export function* checkGraphCalls(
  nodes: readonly Placed[],
  free: FreeNames,
  others: readonly OtherGraph[],
): Generator<Finding> {
  for (const { node } of nodes) {
    if (calleeOf(node) !== 'graph' || free.get((node.callee as AnyNode).start) !== 'graph') continue;
    const reference = argumentOf(node, 0);
    const wanted = textOf(reference);
    if (wanted === null || reference === undefined) continue;
    const found = others.some((other) => [other.slug, other.file_name, other.graph_session_id].includes(wanted));
    if (found) continue;
    const known = others.map(({ slug }) => slug).join(', ') || 'none';
    const message = `there is no other Graph \`${wanted}\` on this desktop; there is: ${known}`;
    yield { rule: 'graph', severity: 'error', at: reference.start, message };
  }
}
