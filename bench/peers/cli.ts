/** `graph-relay bench peers`: its words and options; what it does is loaded when it is asked for. */
import { Command, InvalidArgumentError } from 'commander';
import { note } from '../../protocol/host/terminal.ts';
import { parseCount, parseWhole } from '../options.ts';
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

export function peersCommand(): Command {
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
    .option('--seed <number>', 'draws the order within each round', parseWhole, 1)
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
  const { putOut, refuseUnwritable } = await import('../output.ts');
  const { createProgressLine } = await import('../progress.ts');
  await refuseUnwritable(out);
  const progress = createProgressLine();
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, onSignal);
  try {
    const command = commandOf(plan, only);
    const about = { ...plan, ...(only && { only }), command, signal: stop.signal, onProgress: progress.say };
    const report = await measurePeers(about);
    progress.end();
    await putOut(report, linesOf, { ...(json && { json }), ...(out !== undefined && { out }) });
    if (report.broken.length > 0) process.exitCode = 1;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    note('Stopped before the end: nothing was measured.');
    process.exitCode = 1;
  } finally {
    progress.end();
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal);
  }
}

function commandOf({ rounds, runs, busyMs, seed }: Omit<CliOptions, 'only'>, only?: readonly string[]): string {
  const some = only === undefined ? '' : ` --only ${only.join(',')}`;
  return `npm run bench -- peers --rounds ${rounds} --runs ${runs} --busy-ms ${busyMs} --seed ${seed}${some}`;
}

function parseNames(text: string): string[] {
  const names = text.split(',');
  const unknown = names.filter((name) => !NAMES.includes(name));
  if (unknown.length > 0)
    throw new InvalidArgumentError(`There is no ${unknown.join(', ')}; there is ${NAMES.join(', ')}.`);
  return names;
}
