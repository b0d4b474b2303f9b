/**
 * An older result that a new one is held against: what a change of the code did to the same runs.
 *
 * Owns what may be paired, and saying why two results cannot be compared.
 */
import { isDeepStrictEqual } from 'node:util';
import { readResult, refusing } from '../read-result.ts';
import type { Baseline, CompareResult } from '../result-format.ts';
import { differencesOf } from './differences.ts';

const PURPOSE = 'compared with';

export function readBaseline(path: string, now: { seed: number; runs: number }): CompareResult {
  const result = readResult(path, { kinds: ['compare'], purpose: PURPOSE });
  const { seed, runs } = result;
  if (seed !== now.seed || runs !== now.runs) {
    const refuse = refusing(path, PURPOSE);
    return refuse(`it has --seed ${seed} --runs ${runs}. Use the same: only equal runs can be paired.`);
  }
  return result;
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
