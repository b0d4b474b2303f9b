/** `graph-relay bench engine`: from the command line to what a run of a Graph costs. */
import { Command } from 'commander';
import { parseCount, parseWhole } from '../options.ts';
import { surroundingsLines } from '../provenance.ts';
import type { EngineResult } from '../result-format.ts';
import { textTable } from '../text-table.ts';

interface Options {
  readonly runs: number;
  readonly row: number;
  readonly seed: number;
  readonly json?: boolean;
  readonly out?: string;
}

export function engineCommand(): Command {
  return new Command('engine')
    .description(
      "how soon a Graph's first statement runs, with a warm and a cold sandbox, and what a run takes in memory",
    )
    .option('--runs <number>', 'starts of each kind', parseCount, 30)
    .option('--row <number>', 'runs one after another, between two looks at memory', parseCount, 100)
    .option('--seed <number>', 'draws who goes first in each round', parseWhole, 1)
    .option('--json', 'print one JSON object')
    .option('--out <file>', 'write the JSON to a file, too')
    .action(run);
}

async function run(options: Options): Promise<void> {
  // Loaded here, so that no other command pays for it.
  const { measureEngine } = await import('./engine.ts');
  const { putOut, refuseUnwritable } = await import('../output.ts');
  await refuseUnwritable(options.out);
  const { runs, row, seed } = options;
  const command = `npm run bench -- engine --runs ${runs} --row ${row} --seed ${seed}`;
  const result = await measureEngine({ runs, row, seed, command });
  await putOut(result, engineLines, options);
}

export function engineLines(result: EngineResult): string[] {
  const { start_ms, queued_ms, memory_mib, row, made } = result;
  const rows = (
    [
      ['engine told → first statement, warm sandbox', start_ms.warm],
      ['engine told → first statement, cold sandbox', start_ms.cold],
      ['call → first statement, warm sandbox', queued_ms.warm],
      ['call → first statement, cold sandbox', queued_ms.cold],
    ] as const
  ).map(([name, { median, p95, max }]) => [name, ...[median, p95, max].map((ms) => ms.toFixed(1))]);
  const late = Object.entries(result.beside_ms).map(([what, { p99, max }]) => `${what} ${p99} (most ${max})`);
  const threads = row.threads === null ? '' : `, threads ${row.threads.before} → ${row.threads.after}`;
  return [
    ...textTable([['ms', 'median', 'p95', 'max'], ...rows]),
    `memory: ${memory_mib.base} MiB without a sandbox; the first, kept warm, adds ${memory_mib.warm_sandbox}, each run that waits ${memory_mib.run} (${memory_mib.runs_held} at once)`,
    `${row.runs} runs in a row: ${row.rss_mib.before} → ${row.rss_mib.after} MiB, handles ${row.resources.before} → ${row.resources.after}${threads}, sandboxes left ${row.sandboxes_left}`,
    `the host thread's turns are late by so many ms, 99 of 100: ${late.join(', ')}`,
    `${result.runs} starts of each kind, Node ${made.versions.node}`,
    ...surroundingsLines(result.surroundings),
  ];
}
