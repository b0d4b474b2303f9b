/** Options that the commands of the bench share, and how their words are read. */
import { Command, InvalidArgumentError } from 'commander';

/** A command with the options that all measurements in virtual time have. */
export function virtualCommand(
  name: string,
  runs: { usual: number; least: number },
  about: { json: string; out: string } = { json: 'print one JSON object', out: 'write the JSON to a file, too' },
): Command {
  return new Command(name)
    .option('--seed <number>', 'the same seed gives the same figures', parseWhole, 1)
    .option('--runs <number>', `how many runs, from ${runs.least}`, parseAtLeast(runs.least), runs.usual)
    .option('--threads <number>', 'worker threads; as many as there are cores when left out', parseCount)
    .option('--json', about.json)
    .option('--out <file>', about.out);
}

export interface VirtualOptions {
  readonly seed: number;
  readonly runs: number;
  readonly threads?: number;
  readonly json?: boolean;
  readonly out?: string;
}

export const parseCount = parseAtLeast(1);

function parseAtLeast(least: number): (text: string) => number {
  return (text) => {
    const count = Number(text);
    if (Number.isInteger(count) && count >= least) return count;
    throw new InvalidArgumentError(`It must be a whole number from ${least}.`);
  };
}

const SEED_MAX = 2 ** 32 - 1;

export function parseWhole(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0 || number > SEED_MAX) {
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${SEED_MAX}.`);
  }
  return number;
}

/** Words with commas between them. */
export function parseList(text: string): string[] {
  const words = text.split(',').map((word) => word.trim());
  if (words.some((word) => word === '')) throw new InvalidArgumentError('It must be names with commas between them.');
  return words;
}
