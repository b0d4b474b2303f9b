/**
 * Calls of the Graph's globals that cannot work, or lose what they ask for.
 *
 * Owns the slips with promises: one where a function is expected, and one that nobody waits for.
 */
import type { Finding } from '../problem.ts';
import { type AnyNode, argumentOf, calleeOf, memberOf, type Placed } from '../tree.ts';
import type { FreeNames } from './names.ts';

/** Globals that give a promise. */
const ASKING = new Set(['agent', 'tool', 'graph', 'parallel', 'pipeline', 'retry']);

export function* checkCalls(nodes: readonly Placed[], free: FreeNames): Generator<Finding> {
  /** The global that this calls; null for anything else, also for a function of the Graph's own of that name. */
  const asks = (node: unknown): string | null => {
    const name = calleeOf(node);
    const at = ((node as AnyNode | undefined)?.callee as AnyNode | undefined)?.start ?? -1;
    return name !== null && ASKING.has(name) && free.get(at) === name ? name : null;
  };
  for (const { node } of nodes) {
    if (node.type === 'ExpressionStatement') {
      const call = node.expression as AnyNode;
      const name = asks(call);
      if (name !== null) yield notAwaited(name, call);
    }
    const name = asks(node);
    if (name === 'parallel') yield* checkThunks(argumentOf(node, 0), asks);
    if (name === 'retry') yield* checkThunk(argumentOf(node, 0), asks);
  }
}

type Asks = (node: unknown) => string | null;

function* checkThunks(list: AnyNode | undefined, asks: Asks): Generator<Finding> {
  if (list?.type === 'ArrayExpression') {
    for (const element of list.elements as (AnyNode | null)[]) yield* checkThunk(element ?? undefined, asks);
  }
  // `topics.map((topic) => agent(…))` is a list of promises: all of them have started before `parallel` is called.
  const isMap = list?.type === 'CallExpression' && memberOf(list.callee as AnyNode) === 'map';
  const made = isMap ? argumentOf(list, 0) : undefined;
  if (made?.type === 'ArrowFunctionExpression') yield* checkThunk(made.body as AnyNode, asks);
}

function* checkThunk(entry: AnyNode | undefined, asks: Asks): Generator<Finding> {
  const inner = entry?.type === 'AwaitExpression' ? (entry.argument as AnyNode) : entry;
  const name = asks(inner);
  if (name === null || entry === undefined) return;
  const message = `a function is expected here, which decides when to start: write \`() => ${name}(…)\``;
  yield { rule: 'not-a-function', severity: 'error', at: entry.start, message };
}

function notAwaited(name: string, call: AnyNode): Finding {
  const message = `nobody waits for this: write \`await ${name}(…)\`, or the run may end before it does`;
  return { rule: 'not-awaited', severity: 'warning', at: call.start, message };
}
