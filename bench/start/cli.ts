/** `graph-relay start`. */
import { Command } from 'commander';
import { DEFAULT_PORT, parsePort } from '../../server/cli.ts';

export function startCommand(): Command {
  return new Command('start')
    .description('the main job in one command: relay, desktop, two shared samples, one run through an MCP client')
    .option('--data <folder>', 'where the state is kept (or GRAPH_RELAY_DATA; default .graph-relay)')
    .option('--port <number>', 'port of the relay; 0 takes any free one', parsePort, DEFAULT_PORT)
    .option('--once', 'end after the run')
    .option('--again', 'only run the sample once more on what is running')
    .option('--json', 'print the timeline as one JSON object on one line')
    .action(async (options: { data?: string; port: number; once?: boolean; again?: boolean; json?: boolean }) => {
      const { again, start } = await import('./start.ts');
      const run = options.again ? again : start;
      await run({ data: options.data, port: options.port, once: options.once ?? false, json: options.json ?? false });
    });
}
