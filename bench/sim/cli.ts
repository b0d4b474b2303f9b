/** `graph-relay bench sim`: the simulation from the command line, and its report for a person. */
import { availableParallelism } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import type { PathName } from './paths/path.ts';
import type { BatchReport, FailedSeed } from './run/batch.ts';

interface SimOptions {
  readonly seeds: number;
  readonly seed: number;
  readonly path: PathName;
  readonly jobs: number;
  readonly json?: boolean;
  readonly out?: string;
}

/** Failed seeds that are shown with their story; the others are named. */
const SHOWN = 3;

async function simulate(options: SimOptions): Promise<void> {
  // Loaded here, so that no other command pays for the simulation.
  const { runBatch } = await import('./run/batch.ts');
  const { simResult } = await import('../sim-result.ts');
  const { putOut, refuseUnwritable } = await import('../output.ts');
  await refuseUnwritable(options.out);
  const report = await runBatch(options);
  await putOut(await simResult(report), () => linesOf(report), options);
  if (report.failed.length > 0) process.exitCode = 1;
}

export function simCommand(): Command {
  return new Command('sim')
    .description('production relay and desktops in virtual time, with faults: nothing lost, nothing run twice')
    .option('--seeds <number>', 'how many worlds', parseWhole, 200)
    .option('--seed <number>', 'the first seed', parseWhole, 1)
    .addOption(
      new Option('--path <path>', 'through the whole tRPC and HTTP stack, or straight to the handlers')
        .choices(['direct', 'full'])
        .default('direct'),
    )
    .option('--jobs <number>', 'worker threads', parseWhole, availableParallelism())
    .option('--json', 'print one JSON object')
    .option('--out <file>', 'write the JSON to a file, too')
    .action(simulate);
}

function linesOf(report: BatchReport): string[] {
  const { seeds, first_seed, passed, failed, faults, ends, seeds_with } = report;
  const counts = (of: Readonly<Record<string, number>>) =>
    Object.entries(of)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  const failures = failed.slice(0, SHOWN).flatMap(storyLines);
  const others = failed.slice(SHOWN).map(({ seed }) => seed);
  return [
    ...failures,
    ...(others.length > 0 ? [`Also failed: ${others.join(', ')}`, ''] : []),
    `${passed} of ${seeds} seeds passed (${first_seed}–${first_seed + seeds - 1}, ${report.path} path, ${report.jobs} jobs)`,
    `${report.runs} runs and ${report.events} events in ${report.virtual_minutes} virtual minutes`,
    `faults: ${counts(faults)}`,
    `commands ended as: ${counts(ends)}`,
    `seeds in which an agent was told: ${counts(seeds_with)}`,
    `${(report.wall_ms / 1_000).toFixed(1)} s: ${report.seeds_per_s} seeds/s, ${report.runs_per_s} simulated runs/s`,
  ];
}

function storyLines({ seed, replay, violations }: FailedSeed): string[] {
  return [
    `Seed ${seed} failed. Replay: ${replay}`,
    ...violations.flatMap(({ rule, text, commandId, story }) => [
      `  ✗ ${rule}`,
      `    ${text}${commandId === null ? '' : ` (command ${commandId})`}`,
      ...story.map((line) => `      ${line}`),
    ]),
    '',
  ];
}

function parseWhole(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError('It must be a whole number from 1.');
  return count;
}
