/** Tools that a Graph calls and its meta does not name, and those that it names and no server offers. */
import { type GraphMeta, namesTool } from '../../engine/graph-meta.ts';
import type { Finding } from '../problem.ts';
import { type AnyNode, argumentOf, calleeOf, entryOf, type Placed, textOf } from '../tree.ts';
import type { FreeNames } from './names.ts';

export interface ToolsOfGraph {
  readonly meta: GraphMeta;
  readonly literal: AnyNode;
  /** Null when it is not known what servers offer. */
  readonly offered: readonly string[] | null;
}

export function* checkTools(
  nodes: readonly Placed[],
  free: FreeNames,
  { meta, literal, offered }: ToolsOfGraph,
): Generator<Finding> {
  const named = meta.tools ?? [];
  for (const [index, name] of named.entries()) {
    if (offered === null || offered.some((tool) => namesTool([name], tool))) continue;
    const at = (entryOf(literal, ['tools', index]) ?? literal).start;
    const message = `no server of this desktop offers \`${name}\`; \`graph-relay desktop tools\` lists what there is`;
    yield { rule: 'tool', severity: 'error', at, message };
  }
  for (const { node } of nodes) {
    if (calleeOf(node) !== 'tool' || free.get((node.callee as AnyNode).start) !== 'tool') continue;
    const name = argumentOf(node, 0);
    const wanted = textOf(name);
    if (wanted === null || name === undefined || namesTool(named, wanted)) continue;
    const message = `\`meta.tools\` does not name \`${wanted}\`: the call would be refused`;
    yield { rule: 'tool', severity: 'error', at: name.start, message };
  }
}
