/** Whether a Graph gives a result. */
import type { Finding } from '../problem.ts';
import type { Placed } from '../tree.ts';

export function* checkResult(nodes: readonly Placed[]): Generator<Finding> {
  const gives = nodes.some(
    (placed) => placed.node.type === 'ReturnStatement' && placed.node.argument !== null && !isInFunction(placed),
  );
  if (gives) return;
  const message = 'the Graph returns nothing: its result is null';
  yield { rule: 'no-result', severity: 'warning', at: 0, message };
}

function isInFunction({ parent }: Placed): boolean {
  for (let each = parent; each !== null; each = each.parent) {
    if (/Function/.test(each.node.type)) return true;
  }
  return false;
}
