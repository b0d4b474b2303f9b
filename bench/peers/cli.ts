/** `graph-relay bench peers`: its words and options; what it does is loaded when it is asked for. */
import { writeFile } from 'node:fs/promises';
import { Command, InvalidArgumentError } from 'commander';
import { note, print } from '../../protocol/host/terminal.ts';
import { CANDIDATES, INSTALL } from './candidates.ts';

interface CliOptions {
  readonly rounds: number;
  readonly runs: number;
  readonly busyMs: number;
  readonly seed: number;
  readonly only?: readonly string[];
  readonly json?: boolean;
  readonly out?: string;
}

const NAMES = CANDIDATES.map(({ name }) => name);

export function peersCommand(parseCount: (text: string) => number): Command {
  return new Command('peers')
    .description('the same pickup, round trip and throughput on ours and on systems that one would pick instead')
    .option('--rounds <number>', 'interleaved rounds', parseCount, 20)
    .option('--runs <number>', 'runs for pickup, and as many for the round trip, in each round', parseCount, 10)
    .option(
      '--busy-ms <number>',
      'how long each is kept busy in each round, alone and with 32 at once',
      parseCount,
      250,
    )
    .option('--seed <number>', 'draws the order within each round', parseCount, 1)
    .option('--only <names>', `of ${NAMES.join(', ')}, with commas between them; the floor and ours always`, parseNames)
    .option('--json', 'print one JSON object')
    .option('--out <file>', 'write the JSON object into this file as well')
    .addHelpText(
      'after',
      `\nThe peers' packages are installed by: ${INSTALL}\nTheir servers are started here, but for PostgreSQL: see bench/peers/README.md.\n`,
    )
    .action(run);
}

async function run({ only, json, out, ...plan }: CliOptions): Promise<void> {
  const { measurePeers } = await import('./peers.ts');
  const { linesOf } = await import('./report.ts');
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, onSignal);
  try {
    const about = { ...plan, ...(only && { only }), signal: stop.signal, onProgress: showProgress };
    const report = await measurePeers(about);
    if (out !== undefined) await writeFile(out, `${JSON.stringify(report, null, 2)}\n`);
    if (json) print(JSON.stringify(report));
    else for (const line of linesOf(report)) print(line);
    if (report.broken.length > 0) process.exitCode = 1;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    note('Stopped before the end: nothing was measured.');
    process.exitCode = 1;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal);
  }
}

/** One line that is written over. Results go elsewhere, and where nobody looks there is no progress. */
function showProgress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`);
}

function parseNames(text: string): string[] {
  const names = text.split(',');
  const unknown = names.filter((name) => !NAMES.includes(name));
  if (unknown.length > 0)
    throw new InvalidArgumentError(`There is no ${unknown.join(', ')}; there is ${NAMES.join(', ')}.`);
  return names;
}
