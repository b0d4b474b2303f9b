/** `graph-relay bench pickup`: from the command line to a ratio. */
import { Command, Option } from 'commander';
import type { ModeName } from '../../desktop-agent/modes.ts';
import { parseCount, parseWhole } from '../options.ts';
import { surroundingsLines } from '../provenance.ts';
import type { PickupResult } from '../result-format.ts';
import { grouped, textTable } from '../text-table.ts';

interface Options {
  readonly rounds: number;
  readonly runs: number;
  readonly mode: ModeName;
  readonly seed: number;
  readonly json?: boolean;
  readonly out?: string;
}

export function pickupCommand(): Command {
  return new Command('pickup')
    .description('durable pickup over loopback, against a bare held node:http answer in the same run')
    .option('--rounds <number>', 'interleaved rounds', parseCount, 20)
    .option('--runs <number>', 'runs in each round', parseCount, 25)
    .addOption(
      new Option('--mode <mode>', 'how the desktop asks for work')
        .choices(['long-poll', 'websocket'])
        .default('long-poll'),
    )
    .option('--seed <number>', 'draws who goes first in each round', parseWhole, 1)
    .option('--json', 'print one JSON object')
    .option('--out <file>', 'write the JSON to a file, too')
    .action(run);
}

async function run(options: Options): Promise<void> {
  // Loaded here, so that no other command pays for it.
  const { measurePickup } = await import('./pickup.ts');
  const { putOut, refuseUnwritable } = await import('../output.ts');
  await refuseUnwritable(options.out);
  const { rounds, runs, mode, seed } = options;
  const command = `npm run bench -- pickup --rounds ${rounds} --runs ${runs} --mode ${mode} --seed ${seed}`;
  const result = await measurePickup({ rounds, runsPerRound: runs, mode, seed, command });
  await putOut(result, pickupLines, options);
}

export function pickupLines(result: PickupResult): string[] {
  const { floor_us, ticket_us, pickup_us, made } = result;
  const rows = (
    [
      ['floor: bare held answer', floor_us],
      ['call → ticket, on disk', ticket_us],
      ['call → desktop starts', pickup_us],
    ] as const
  ).map(([name, { median, p99, max }]) => [name, ...[median, p99, max].map(grouped)]);
  return [
    ...textTable([['µs', 'median', 'p99', 'max'], ...rows]),
    `pickup ÷ floor: ${result.pickup_to_floor} (medians of ${result.rounds * result.runs_per_round} runs, ${result.mode}, Node ${made.versions.node})`,
    ...surroundingsLines(result.surroundings),
  ];
}
