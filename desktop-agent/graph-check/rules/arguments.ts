/** What a Graph reads from `args`, beside what its meta says of its arguments. */
import type { ArgumentsSchema } from '../../../protocol/arguments-schema.ts';
import type { Finding } from '../problem.ts';
import { type AnyNode, keyOf, memberOf, nameOf, type Placed } from '../tree.ts';
import type { FreeNames } from './names.ts';

/** Schemas with one of these may allow names that are not in `properties`. */
const OPEN = ['patternProperties', '$ref', 'allOf', 'anyOf', 'oneOf', 'if', 'dependentSchemas'];

export function* checkArguments(
  nodes: readonly Placed[],
  free: FreeNames,
  schema: ArgumentsSchema | undefined,
): Generator<Finding> {
  const reads = nodes.flatMap((placed) => readsOf(placed, free)).sort((a, b) => a.at - b.at);
  const [first] = reads;
  if (schema === undefined) {
    if (first !== undefined) yield undeclared(first.at);
    return;
  }
  if (OPEN.some((key) => key in schema)) return;
  const known = new Set(Object.keys((schema.properties as object | undefined) ?? {}));
  for (const { name, at } of reads) {
    if (name === null || known.has(name)) continue;
    const never = schema.additionalProperties === false;
    const message = never
      ? `\`meta.arguments\` lets no caller send \`${name}\``
      : `\`meta.arguments\` does not say that there is \`${name}\`: callers do not know of it`;
    yield { rule: 'argument', severity: never ? 'error' : 'warning', at, message };
  }
}

function undeclared(at: number): Finding {
  const message =
    'the Graph uses `args`, and its meta has no `arguments`: callers do not know what to send, and nothing is checked';
  return { rule: 'argument', severity: 'warning', at, message };
}

interface Read {
  /** Null when all of `args` is used, or a name that is computed. */
  readonly name: string | null;
  readonly at: number;
}

/** `args.name`, `args['name']`, `const { name } = args`, and `args` as a whole. */
function readsOf({ node, parent }: Placed, free: FreeNames): Read[] {
  if (nameOf(node) !== 'args' || free.get(node.start) !== 'args') return [];
  const user = parent?.node;
  if (user?.type === 'AssignmentExpression' && user.left === node) return [];
  if (user?.type === 'MemberExpression' && user.object === node) return [{ name: memberOf(user), at: user.start }];
  const isTakenApart = user?.type === 'VariableDeclarator' && user.init === node;
  const pattern = isTakenApart ? (user.id as AnyNode) : undefined;
  if (pattern?.type !== 'ObjectPattern') return [{ name: null, at: node.start }];
  return (pattern.properties as AnyNode[]).map((property) => ({
    name: keyOf(property),
    at: property.start,
  }));
}
