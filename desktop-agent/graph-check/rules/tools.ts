/** Tools that a Graph calls and its meta does not name, and those that it names and cannot have. */
import { type GraphMeta, namesTool } from '../../engine/graph-meta.ts';
import type { Finding } from '../problem.ts';
import { type AnyNode, argumentOf, calleeOf, entryOf, type Placed, textOf } from '../tree.ts';
import type { FreeNames } from './names.ts';

export interface KnownTool {
  /** `server.tool`. */
  readonly name: string;
  /** The owner lets no Graph call it. */
  readonly denied: boolean;
}

/** By server; null for one whose tools are not known, and null for all when not even the servers are. */
export type KnownTools = ReadonlyMap<string, readonly KnownTool[] | null> | null;

export interface ToolsOfGraph {
  readonly meta: GraphMeta;
  readonly literal: AnyNode;
  readonly known: KnownTools;
}

export function* checkTools(
  nodes: readonly Placed[],
  free: FreeNames,
  { meta, literal, known }: ToolsOfGraph,
): Generator<Finding> {
  const named = meta.tools ?? [];
  for (const [index, name] of named.entries()) {
    const problem = problemOf(name, known);
    if (problem === null) continue;
    const at = (entryOf(literal, ['tools', index]) ?? literal).start;
    yield { rule: 'tool', at, ...problem };
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

/** What is wrong with a name in `meta.tools`: a tool, or all of a server. */
function problemOf(name: string, known: KnownTools): Pick<Finding, 'severity' | 'message'> | null {
  if (known === null) return null;
  const server = name.slice(0, name.indexOf('.'));
  const tools = known.get(server);
  if (tools === undefined) {
    const there = [...known.keys()].join(', ') || 'none';
    return { severity: 'error', message: `\`${name}\`: there is no tool server \`${server}\`; there is: ${there}` };
  }
  if (tools === null) return null;
  const found = tools.filter((tool) => namesTool([name], tool.name));
  if (found.length === 0) {
    return {
      severity: 'error',
      message: `no server offers \`${name}\`; \`graph-relay desktop tools\` lists what there is`,
    };
  }
  if (found.some(({ denied }) => !denied)) return null;
  return { severity: 'warning', message: `\`${name}\`: you let no Graph call it, so the call would be refused` };
}
