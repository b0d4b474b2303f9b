/** Where a result goes: to the terminal as tables or as JSON, and to a file. */
import { writeFile } from 'node:fs/promises';
import { note, print } from '../protocol/host/terminal.ts';
import { BenchError } from './bench-error.ts';
import type { BenchResult } from './result-format.ts';

export interface OutputOptions {
  readonly json?: boolean;
  readonly out?: string;
}

export async function putOut<R extends BenchResult>(
  result: R,
  lines: (result: R) => string[],
  { json, out }: OutputOptions,
): Promise<void> {
  if (json) print(JSON.stringify(result));
  else for (const line of lines(result)) print(line);
  if (out === undefined) return;
  try {
    await writeFile(out, `${JSON.stringify(result, null, 1)}\n`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new BenchError('out-unwritable', `The result cannot be written to ${out}: ${reason}`, { cause: error });
  }
  if (!json) note(`The result is in ${out}.`);
}
