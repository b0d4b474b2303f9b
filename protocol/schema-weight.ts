/**
 * How much work a JSON Schema can make, told from the schema alone.
 *
 * Owns the refusal of schemas that are small and take for ever: references that double at each step (thirty of them are
 * a billion visits), references in a circle, and names of their own inside, which make the library read a schema twice
 * at each level. It must be asked before the library gets the schema. Patterns are another matter: nothing here knows
 * how long one takes.
 */
import { dereference, ignoredKeyword, type Schema, schemaArrayKeyword, schemaMapKeyword } from '@cfworker/json-schema';
import { isContainer } from './json-text.ts';

/** Subschemas with each reference written out. Larger: a check of many values takes seconds. Smaller: rich forms do not fit. */
const MAX_WEIGHT = 5_000;

type Node = Readonly<Record<string, unknown>>;
type Keywords = Readonly<Record<string, boolean | undefined>>;

/** Keywords that refer to places that only a run can tell, and the library's own marks. */
const REFUSED: readonly string[] = [
  '$recursiveRef',
  '$dynamicRef',
  '__absolute_uri__',
  '__absolute_ref__',
  '__absolute_recursive_ref__',
];

/** Why this schema may take too long, or refers to nowhere; null when it does neither. */
export function weightProblem(schema: object): string | null {
  const nodes = nodesBelow(schema as Node);
  for (const node of nodes) {
    // Enumerable ones: the marks that the library has put there are not.
    const refused = Object.keys(node).find((key) => REFUSED.includes(key));
    if (refused !== undefined) return `uses \`${refused}\`, which is not taken`;
    if (node !== schema && (typeof node.$id === 'string' || typeof node.id === 'string')) {
      return 'has an `$id` inside; only the whole schema may have one';
    }
  }
  try {
    const targets = targetsOf(nodes, dereference(schema as Schema));
    return typeof targets === 'string' ? targets : weigh(nodes, targets);
  } catch (error) {
    return `cannot be used: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** All subschemas, each after those that it holds. */
function nodesBelow(schema: Node): Node[] {
  const below = subschemasOf(schema).flatMap(nodesBelow);
  return [...below, schema];
}

/** What the library takes for subschemas, known keyword or not. */
function subschemasOf(schema: Node): Node[] {
  const found = Object.entries(schema).flatMap(([key, value]): unknown[] => {
    if ((ignoredKeyword as Keywords)[key]) return [];
    if (Array.isArray(value)) return (schemaArrayKeyword as Keywords)[key] ? value : [];
    return (schemaMapKeyword as Keywords)[key] && isContainer(value) ? Object.values(value) : [value];
  });
  return found.filter((value): value is Node => isContainer(value) && !Array.isArray(value));
}

/** What each reference leads to, or the problem of one that leads to nowhere. */
function targetsOf(nodes: readonly Node[], places: Readonly<Record<string, unknown>>): Map<Node, Node> | string {
  const targets = new Map<Node, Node>();
  for (const node of nodes) {
    // The library has put the whole address beside the reference.
    const address = (node as { readonly __absolute_ref__?: string }).__absolute_ref__;
    if (address === undefined) continue;
    const target = places[address];
    if (target === undefined) return `cannot be used: it refers to "${String(node.$ref)}", which is not there`;
    if (isContainer(target)) targets.set(node, target as Node);
  }
  return targets;
}

function weigh(nodes: readonly Node[], targets: ReadonlyMap<Node, Node>): string | null {
  const weights = new Map<Node, number>();
  const open = new Set<Node>();

  /** `Infinity` for a circle. */
  function weightOf(node: Node): number {
    const known = weights.get(node);
    if (known !== undefined) return known;
    if (open.has(node)) return Number.POSITIVE_INFINITY;
    open.add(node);
    const target = targets.get(node);
    const parts = target === undefined ? subschemasOf(node) : [...subschemasOf(node), target];
    const weight = parts.reduce((sum, part) => sum + weightOf(part), 1);
    open.delete(node);
    weights.set(node, weight);
    return weight;
  }

  const heaviest = Math.max(...nodes.map(weightOf));
  if (heaviest === Number.POSITIVE_INFINITY) return 'refers to itself: write out the levels that it needs';
  if (heaviest <= MAX_WEIGHT) return null;
  return `has more than ${MAX_WEIGHT} parts when its references are written out`;
}
