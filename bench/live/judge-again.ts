/**
 * The verdict on the samples of an older result, once more: nobody has to believe what a file says of itself.
 *
 * Owns reading the file, and saying why it cannot be judged.
 */
import { readFileSync } from 'node:fs';
import { BenchError } from '../bench-error.ts';
import { FORMAT_VERSION, type LiveResult, liveResultSchema } from '../result-format.ts';
import { judge, verdictOf } from './agreement.ts';
import { rounded } from './sums.ts';

export function judgeAgain(path: string): LiveResult {
  const result = readResult(path);
  const { workload, seed } = result;
  const cells = result.cells.map((cell) => ({ ...cell, figures: rounded(judge(cell, { workload, seed })) }));
  return { ...result, cells, verdict: verdictOf(cells) };
}

function readResult(path: string): LiveResult {
  const refuse = (why: string, cause?: unknown): never => {
    throw new BenchError('baseline-invalid', `${path} cannot be judged: ${why}`, { cause });
  };
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error), error);
  }
  const { format_version: version, kind } = (json ?? {}) as { format_version?: unknown; kind?: unknown };
  if (kind !== 'live') return refuse('it is no result of `live`. Make one with --out.');
  if (version !== FORMAT_VERSION) return refuse(`its format is version ${version}, and this is ${FORMAT_VERSION}.`);
  const checked = liveResultSchema.safeParse(json);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    return refuse(`${issue?.path.join('.')}: ${issue?.message}`);
  }
  for (const { mode, runs, samples } of checked.data.cells) {
    const lengths = Object.values(samples).flatMap((side) => Object.values(side).map(({ length }) => length));
    if (lengths.some((length) => length !== runs))
      return refuse(`${mode} has not one sample for each of its ${runs} runs.`);
  }
  return checked.data;
}
