/**
 * Names that a Graph uses and nothing declares: forbidden things, things that are not there, slips of the pen.
 *
 * Owns which of them is worth a word. What is in scope is found by eslint-scope.
 */
import type { Program } from 'acorn';
import { analyze, type Reference } from 'eslint-scope';
import { GRAPH_GLOBALS, LANGUAGE_GLOBALS, MISSING_GLOBALS, MISSING_MEMBERS } from '../globals.ts';
import type { Finding } from '../problem.ts';
import { type AnyNode, memberOf, nameOf, type Placed } from '../tree.ts';

/** Where a name stands that nothing in the file declares. */
export type FreeNames = ReadonlyMap<number, string>;

export function freeReferences(program: Program): Reference[] {
  // Acorn's trees are ESTree's, but for types that are named differently.
  const tree = program as unknown as Parameters<typeof analyze>[0];
  return analyze(tree, { ecmaVersion: 2024, sourceType: 'module' }).globalScope?.through ?? [];
}

export function freeNames(references: readonly Reference[]): FreeNames {
  return new Map(references.map(({ identifier }) => [startOf(identifier), identifier.name as string]));
}

export function* checkNames(references: readonly Reference[], nodes: readonly Placed[]): Generator<Finding> {
  const asked = new Set(nodes.flatMap(({ node }) => askedByTypeof(node)));
  for (const reference of references) {
    const at = startOf(reference.identifier);
    const finding = findingFor(String(reference.identifier.name), reference.isWrite());
    // `typeof fetch` fails nowhere: whoever asks knows that it may not be there.
    if (finding !== null && !asked.has(at)) yield { ...finding, at };
  }
  const free = freeNames(references);
  for (const { node } of nodes) yield* checkMember(node, free);
}

function findingFor(name: string, isWrite: boolean): Omit<Finding, 'at'> | null {
  const missing = MISSING_GLOBALS.get(name);
  if (missing !== undefined) return { rule: 'forbidden', severity: 'error', message: `\`${name}\`: ${missing}` };
  const isKnown = GRAPH_GLOBALS.has(name) || LANGUAGE_GLOBALS.has(name);
  if (isKnown && isWrite && GRAPH_GLOBALS.has(name)) {
    return {
      rule: 'read-only',
      severity: 'error',
      message: `\`${name}\` belongs to the desktop and cannot be changed`,
    };
  }
  if (isKnown) return null;
  const message = isWrite
    ? `\`${name}\` is not declared: write \`let ${name} = …\` first`
    : `\`${name}\` is not defined; a Graph has ${[...GRAPH_GLOBALS].join(', ')}, and the language`;
  return { rule: 'unknown-name', severity: 'error', message };
}

/** `Math.random`, and the missing names behind `globalThis`. */
function* checkMember(node: AnyNode, free: FreeNames): Generator<Finding> {
  const member = memberOf(node);
  const object = node.object as AnyNode | undefined;
  const holder = nameOf(object);
  if (member === null || holder === null || free.get(object?.start ?? -1) !== holder) return;
  const name = holder === 'globalThis' ? member : `${holder}.${member}`;
  const missing = holder === 'globalThis' ? MISSING_GLOBALS.get(member) : MISSING_MEMBERS.get(name);
  if (missing === undefined) return;
  yield { rule: 'forbidden', severity: 'error', at: node.start, message: `\`${name}\`: ${missing}` };
}

function askedByTypeof(node: AnyNode): number[] {
  const isAsking = node.type === 'UnaryExpression' && node.operator === 'typeof';
  return isAsking ? [(node.argument as AnyNode).start] : [];
}

function startOf(identifier: object): number {
  return (identifier as { start: number }).start;
}
