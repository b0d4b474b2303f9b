/**
 * An older result that a new one is held against: what a change of the code did to the same runs.
 *
 * Owns reading it, and saying why two results cannot be compared.
 */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { BenchError } from '../bench-error.ts';
import { type Baseline, type CompareResult, compareResultSchema, FORMAT_VERSION } from '../result-format.ts';
import { differencesOf } from './differences.ts';

export function readBaseline(path: string, now: { seed: number; runs: number }): CompareResult {
  const refuse = (why: string, cause?: unknown): never => {
    throw new BenchError('baseline-invalid', `${path} cannot be compared with: ${why}`, { cause });
  };
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error), error);
  }
  const { format_version: version, kind } = (json ?? {}) as { format_version?: unknown; kind?: unknown };
  if (kind !== 'compare') return refuse('it is no result of `compare`. Make one with --out.');
  if (version !== FORMAT_VERSION) return refuse(`its format is version ${version}, and this is ${FORMAT_VERSION}.`);
  const checked = compareResultSchema.safeParse(json);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    return refuse(`${issue?.path.join('.')}: ${issue?.message}`);
  }
  const { seed, runs } = checked.data;
  if (seed !== now.seed || runs !== now.runs) {
    return refuse(`it has --seed ${seed} --runs ${runs}. Use the same: only equal runs can be paired.`);
  }
  return checked.data;
}

/** What is in both results. */
export function againstBaseline(now: Omit<CompareResult, 'baseline'>, before: CompareResult): Baseline {
  const sameWorkload = (name: string) =>
    isDeepStrictEqual(
      now.workloads.find((each) => each.name === name),
      before.workloads.find((each) => each.name === name),
    );
  const pairs = now.cells.flatMap((cell) => {
    const old = before.cells.find(
      ({ mode, workload, fault }) => mode === cell.mode && workload === cell.workload && fault === cell.fault,
    );
    return old === undefined || !sameWorkload(cell.workload) ? [] : [{ cell, old }];
  });
  const idle = now.idle.flatMap(({ mode, fault, price }) => {
    const old = before.idle.find((each) => each.mode === mode && each.fault === fault);
    return old === undefined ? [] : [{ mode, workload: null, fault, before: old.price, after: price }];
  });
  const busy = pairs.map(({ cell, old }) => {
    const { mode, workload, fault } = cell;
    return { mode, workload, fault, before: old.busy, after: cell.busy };
  });
  return {
    commit: before.made.commit?.id ?? null,
    differences: pairs.flatMap(({ cell, old }) =>
      differencesOf(cell, old, { seed: now.seed, againstName: `${cell.mode} before` }),
    ),
    prices: [...busy, ...idle],
  };
}
