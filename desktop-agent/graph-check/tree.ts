/**
 * The syntax tree of a Graph, walked without recursion: it may be as deep as the parser could go.
 *
 * Owns the walk, and what is asked of nodes again and again. Knows no rule.
 */
import { type Program, parse } from 'acorn';

export interface AnyNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

/** A node with what it stands in. */
export interface Placed {
  readonly node: AnyNode;
  readonly parent: Placed | null;
}

/** As the engine parses it. Throws what the parser throws. */
export function graphTree(source: string): Program {
  return parse(source, {
    ecmaVersion: 'latest',
    sourceType: 'module',
    allowReturnOutsideFunction: true,
    allowAwaitOutsideFunction: true,
    ranges: true,
  });
}

/** Each node once, parents before children. */
export function* placedNodes(root: unknown): Generator<Placed> {
  const open: Placed[] = isNode(root) ? [{ node: root, parent: null }] : [];
  for (let placed = open.pop(); placed !== undefined; placed = open.pop()) {
    yield placed;
    for (const child of childrenOf(placed.node)) open.push({ node: child, parent: placed });
  }
}

function childrenOf(node: AnyNode): AnyNode[] {
  return Object.values(node).flatMap((value) =>
    Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : [],
  );
}

export function isNode(value: unknown): value is AnyNode {
  return typeof value === 'object' && value !== null && typeof (value as AnyNode).type === 'string';
}

/** The name of an identifier; null for everything else. */
export function nameOf(node: unknown): string | null {
  return isNode(node) && node.type === 'Identifier' ? String(node.name) : null;
}

/** The name behind the dot, or the text in the brackets; null when it is computed. */
export function memberOf(node: AnyNode): string | null {
  if (node.type !== 'MemberExpression') return null;
  return node.computed === true ? textOf(node.property) : nameOf(node.property);
}

/** The value of a text in the source; null for everything else. */
export function textOf(node: unknown): string | null {
  if (!isNode(node)) return null;
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : null;
  const [only, ...more] = node.type === 'TemplateLiteral' ? (node.quasis as AnyNode[]) : [];
  return only === undefined || more.length > 0 ? null : ((only.value as { cooked?: string }).cooked ?? null);
}

/** The name of the function that is called by name; null for everything else. */
export function calleeOf(node: unknown): string | null {
  return isNode(node) && node.type === 'CallExpression' ? nameOf(node.callee) : null;
}

export function argumentOf(call: AnyNode, index: number): AnyNode | undefined {
  return (call.arguments as AnyNode[] | undefined)?.[index];
}

/** The object that follows `export const meta =`, which comes first; null when the file has none. */
export function metaLiteral(program: Program): AnyNode | null {
  const first = program.body[0];
  const declared = first?.type === 'ExportNamedDeclaration' ? first.declaration : null;
  const init = declared?.type === 'VariableDeclaration' ? declared.declarations[0]?.init : null;
  return init?.type === 'ObjectExpression' ? (init as unknown as AnyNode) : null;
}

/** The value at this path of an object literal, by keys and positions; null when there is none. */
export function entryOf(literal: AnyNode, path: readonly (string | number)[]): AnyNode | null {
  let node: AnyNode | undefined = literal;
  for (const step of path) {
    if (typeof step === 'number') node = (node?.elements as AnyNode[] | undefined)?.[step];
    else node = (node?.properties as AnyNode[] | undefined)?.find((each) => keyOf(each) === step)?.value as AnyNode;
  }
  return node ?? null;
}

/** The name of an entry of an object literal or pattern; null when it is computed. */
export function keyOf({ type, computed, key }: AnyNode): string | null {
  if (type !== 'Property' || computed === true || !isNode(key)) return null;
  return nameOf(key) ?? (typeof key.value === 'string' ? key.value : null);
}
