/**
 * The verdict on the samples of an older result, once more: nobody has to believe what a file says of itself.
 *
 * Owns what a file must have to be judged.
 */
import { readResult, refusing } from '../read-result.ts';
import type { LiveResult } from '../result-format.ts';
import { judge, verdictOf } from './agreement.ts';
import { rounded } from './sums.ts';

export function judgeAgain(path: string): LiveResult {
  const result = readWhole(path);
  const { workload, seed } = result;
  const cells = result.cells.map((cell) => ({ ...cell, figures: rounded(judge(cell, { workload, seed })) }));
  return { ...result, cells, verdict: verdictOf(cells) };
}

const PURPOSE = 'judged';

function readWhole(path: string): LiveResult {
  const result = readResult(path, { kinds: ['live'], purpose: PURPOSE });
  for (const { mode, runs, samples } of result.cells) {
    const lengths = Object.values(samples).flatMap((side) => Object.values(side).map(({ length }) => length));
    if (lengths.some((length) => length !== runs)) {
      return refusing(path, PURPOSE)(`${mode} has not one sample for each of its ${runs} runs.`);
    }
  }
  return result;
}
