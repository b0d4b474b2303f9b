/** Where a result goes: to the terminal as tables or as JSON, and to a file. */
import { access, constants, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { note, print } from '../protocol/host/terminal.ts';
import { BenchError } from './bench-error.ts';
import type { BenchResult } from './result-format.ts';

export interface OutputOptions {
  readonly json?: boolean;
  readonly out?: string;
}

/** Before a long measurement: what cannot be written at its end is said at once. */
export async function refuseUnwritable(out: string | undefined): Promise<void> {
  if (out === undefined) return;
  try {
    await access(dirname(out), constants.W_OK);
  } catch (error) {
    throw unwritable(out, error);
  }
}

export async function putOut<R extends BenchResult>(
  result: R,
  lines: (result: R) => string[],
  { json, out }: OutputOptions,
): Promise<void> {
  if (json) print(JSON.stringify(result));
  else for (const line of lines(result)) print(line);
  if (out === undefined) return;
  await writeOut(out, `${JSON.stringify(result, null, 1)}\n`);
  if (!json) note(`The result is in ${out}.`);
}

export async function writeOut(out: string, text: string): Promise<void> {
  try {
    await writeFile(out, text);
  } catch (error) {
    throw unwritable(out, error);
  }
}

function unwritable(out: string, cause: unknown): BenchError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new BenchError('out-unwritable', `The result cannot be written to ${out}: ${reason}`, { cause });
}
