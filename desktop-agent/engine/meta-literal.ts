/**
 * The value of a literal expression, read from its syntax tree.
 *
 * Owns the question what counts as a literal. It executes nothing: reading a Graph's meta must be harmless for a file
 * that nobody has looked at yet.
 */
import type { Expression, Node, ObjectExpression, Property, SpreadElement } from 'acorn';

/** A place in the expression that is not literal. */
export class NotLiteralError extends Error {
  readonly offset: number;
  constructor(message: string, node: Node) {
    super(message);
    this.name = 'NotLiteralError';
    this.offset = node.start;
  }
}

export function literalValue(node: Expression | SpreadElement): unknown {
  switch (node.type) {
    case 'Literal':
      if (node.regex || typeof node.bigint === 'string') throw notLiteral(node);
      return node.value;
    case 'TemplateLiteral':
      if (node.expressions.length > 0) throw new NotLiteralError('a template in meta cannot have values in it', node);
      return node.quasis[0]?.value.cooked ?? '';
    case 'UnaryExpression':
      return negated(literalValue(node.argument), node);
    case 'ArrayExpression':
      return node.elements.map((element) => {
        if (element === null) throw new NotLiteralError('a list in meta cannot have holes', node);
        return literalValue(element);
      });
    case 'ObjectExpression':
      return objectValue(node);
    default:
      throw notLiteral(node);
  }

  function negated(value: unknown, at: Node): number {
    if (node.type !== 'UnaryExpression' || node.operator !== '-' || typeof value !== 'number') throw notLiteral(at);
    return -value;
  }
}

function objectValue(node: ObjectExpression): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  for (const property of node.properties) {
    const key = literalKey(property);
    value[key] = literalValue((property as Property).value);
  }
  return value;
}

/** The expression at this path of a literal, or the last one on the way that is there. */
export function literalAt(node: Node, [key, ...rest]: readonly PropertyKey[]): Node {
  const below = key === undefined ? undefined : childOf(node as Expression, key);
  return below ? literalAt(below, rest) : node;
}

function childOf(node: Expression, key: PropertyKey): Node | null | undefined {
  if (node.type === 'ArrayExpression') return node.elements[Number(key)];
  if (node.type !== 'ObjectExpression') return undefined;
  const property = node.properties.find((entry) => literalKey(entry) === key) as Property | undefined;
  return property?.value;
}

function literalKey(property: Property | SpreadElement): string {
  if (property.type !== 'Property') throw new NotLiteralError('meta cannot spread another object', property);
  if (property.kind !== 'init' || property.method || property.computed || property.shorthand) {
    throw new NotLiteralError('each entry of meta is a plain `key: value`', property);
  }
  const { key } = property;
  const name = key.type === 'Identifier' ? key.name : key.type === 'Literal' ? String(key.value) : null;
  if (name === null) throw notLiteral(key);
  // In an object literal this key sets the prototype instead of a property.
  if (name === '__proto__') throw new NotLiteralError('meta cannot have a key `__proto__`', key);
  return name;
}

function notLiteral(node: Node): NotLiteralError {
  return new NotLiteralError(
    'meta must be a literal: texts, numbers, true, false, null, lists and objects of them, nothing computed',
    node,
  );
}
