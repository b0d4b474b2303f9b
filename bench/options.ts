/** Options that the commands of the bench share, and how their words are read. */
import { Command, InvalidArgumentError } from 'commander';

/** A command with the options that all measurements in virtual time have. */
export function virtualCommand(name: string, runs: number): Command {
  return new Command(name)
    .option('--seed <number>', 'the same seed gives the same figures', parseWhole, 1)
    .option('--runs <number>', 'how many runs', parseCount, runs)
    .option('--threads <number>', 'worker threads; as many as there are cores when left out', parseCount)
    .option('--json', 'print one JSON object')
    .option('--out <file>', 'write the JSON to a file, too');
}

export interface VirtualOptions {
  readonly seed: number;
  readonly runs: number;
  readonly threads?: number;
  readonly json?: boolean;
  readonly out?: string;
}

export function parseCount(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError('It must be a whole number from 1.');
  return count;
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
