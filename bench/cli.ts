/** `graph-relay bench`: what is measured, each by its own command. */
import { Command } from 'commander';
import { compareCommand } from './compare/cli.ts';
import { engineCommand } from './engine/cli.ts';
import { liveCommand } from './live/cli.ts';
import { peersCommand } from './peers/cli.ts';
import { pickupCommand } from './pickup/cli.ts';
import { predictCommand } from './predict/cli.ts';
import { publishedCommand } from './published/cli.ts';
import { reportCommand } from './report/cli.ts';
import { simCommand } from './sim/cli.ts';

export function benchCommand(): Command {
  const bench = new Command('bench').description('measure the relay on this machine');
  bench.addCommand(publishedCommand());
  bench.addCommand(compareCommand());
  bench.addCommand(reportCommand());
  bench.addCommand(predictCommand());
  bench.addCommand(pickupCommand());
  bench.addCommand(engineCommand());
  bench.addCommand(liveCommand());
  bench.addCommand(peersCommand());
  bench.addCommand(simCommand());
  return bench;
}
