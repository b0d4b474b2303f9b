/** `graph-relay bench`: what is measured, each by its own command. */
import { Command, Option } from 'commander';
import type { ModeName } from '../desktop-agent/modes.ts';
import { compareCommand } from './compare/cli.ts';
import { liveCommand } from './live/cli.ts';
import { parseCount } from './options.ts';
import { peersCommand } from './peers/cli.ts';
import { publishedCommand } from './published/cli.ts';
import { simCommand } from './sim/cli.ts';

export function benchCommand(): Command {
  const bench = new Command('bench').description('measure the relay on this machine');
  bench
    .command('pickup')
    .description('durable pickup over loopback, against a bare held node:http answer in the same run')
    .option('--rounds <number>', 'interleaved rounds', parseCount, 20)
    .option('--runs <number>', 'runs in each round', parseCount, 25)
    .addOption(
      new Option('--mode <mode>', 'how the desktop asks for work')
        .choices(['long-poll', 'websocket'])
        .default('long-poll'),
    )
    .option('--json', 'print JSON')
    .action(async (options: { rounds: number; runs: number; mode: ModeName; json?: boolean }) => {
      const { measurePickup } = await import('./pickup/pickup.ts');
      const { print } = await import('../protocol/host/terminal.ts');
      const report = await measurePickup({ rounds: options.rounds, runsPerRound: options.runs, mode: options.mode });
      if (options.json) return print(JSON.stringify(report));
      const row = (name: string, { p50, p99, max }: typeof report.floor_us) =>
        print(
          `${name.padEnd(28)} p50 ${String(p50).padStart(6)} µs   p99 ${String(p99).padStart(6)} µs   max ${max} µs`,
        );
      row('floor: bare held answer', report.floor_us);
      row('call → ticket, on disk', report.ticket_us);
      row('call → desktop starts', report.pickup_us);
      print(
        `pickup ÷ floor: ${report.pickup_to_floor} (medians of ${report.rounds * report.runs_per_round} runs, Node ${report.node})`,
      );
    });
  bench.addCommand(publishedCommand());
  bench.addCommand(compareCommand());
  bench.addCommand(liveCommand());
  bench.addCommand(peersCommand(parseCount));
  bench.addCommand(simCommand());
  return bench;
}
