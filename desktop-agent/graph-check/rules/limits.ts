/** Limits of a Graph's meta that are above what the owner allows: they are lowered without a word when it runs. */
import type { EngineLimits } from '../../engine/engine-limits.ts';
import type { GraphMeta } from '../../engine/graph-meta.ts';
import type { Finding } from '../problem.ts';
import { type AnyNode, entryOf } from '../tree.ts';

type Limit = keyof NonNullable<GraphMeta['limits']>;

const OWNERS: Readonly<Record<Limit, (limits: EngineLimits) => number | null>> = {
  total_tokens: (limits) => limits.totalTokens,
  max_concurrency: (limits) => limits.maxConcurrency,
  wall_ms: (limits) => limits.wallMs,
  agents: (limits) => limits.agentsPerRun,
  tool_calls: (limits) => limits.toolCallsPerRun,
  graph_calls: (limits) => limits.graphCallsPerRun,
};

export function* checkLimits(meta: GraphMeta, literal: AnyNode, owner: EngineLimits): Generator<Finding> {
  for (const [name, wanted] of Object.entries(meta.limits ?? {}) as [Limit, number | undefined][]) {
    const allowed = OWNERS[name](owner);
    if (wanted === undefined || allowed === null || wanted <= allowed) continue;
    const at = (entryOf(literal, ['limits', name]) ?? literal).start;
    const message = `\`limits.${name}\` is ${wanted}, and this desktop allows ${allowed}: a run gets ${allowed}`;
    yield { rule: 'limit', severity: 'warning', at, message };
  }
}
