/** `graph-relay bench compare`: from the command line to a comparison. */
import type { Command } from 'commander';
import { parseList, type VirtualOptions, virtualCommand } from '../options.ts';

const RUNS = { usual: 200, least: 1 };

interface Options extends VirtualOptions {
  readonly modes: string[];
  readonly mode: string[];
  readonly workloads: string[];
  readonly faults: string[];
  readonly baseline?: string;
}

export function compareCommand(): Command {
  return virtualCommand('compare', RUNS)
    .description('modes on the same workloads and faults with the same seeds, and the price of each')
    .option('--modes <names>', 'names and files with commas between them', parseList, [
      'plain-20s',
      'long-poll',
      'websocket',
      'plain-5s',
    ])
    .option('--mode <file>', 'one more mode, of your own; may be repeated', addTo, [])
    .option('--workloads <names>', 'names (pickup, fanout-N, stagger, …) and files', parseList, ['pickup', 'cancel'])
    .option('--faults <names>', 'names (none, loss, proxy-cut-15s, sleep) and files', parseList, ['none'])
    .option('--baseline <file>', 'an older result of this command: shows what has changed since')
    .action(run);
}

function addTo(value: string, all: string[]): string[] {
  return [...all, value];
}

async function run(options: Options): Promise<void> {
  // Loaded here, so that no other command pays for it.
  const { findFaults, findModes, findWorkloads } = await import('../catalogue.ts');
  const { compare } = await import('./compare.ts');
  const { readBaseline } = await import('./baseline.ts');
  const { compareLines } = await import('./text.ts');
  const { putOut, refuseUnwritable } = await import('../output.ts');
  await refuseUnwritable(options.out);
  const { seed, runs, threads, baseline } = options;
  const result = await compare({
    seed,
    runs,
    threads,
    modes: await findModes([...options.modes, ...options.mode]),
    workloads: await findWorkloads(options.workloads),
    faults: await findFaults(options.faults),
    baseline: baseline === undefined ? undefined : readBaseline(baseline, { seed, runs }),
    command: compareCommandLine({ ...options, modes: [...options.modes, ...options.mode] }),
  });
  await putOut(result, compareLines, options);
}

/** The command that makes such a comparison again. */
export function compareCommandLine(given: {
  seed: number;
  runs: number;
  modes: readonly string[];
  workloads: readonly string[];
  faults: readonly string[];
}): string {
  const { modes, workloads, faults, runs, seed } = given;
  return `npm run bench -- compare --modes ${modes.join(',')} --workloads ${workloads.join(',')} --faults ${faults.join(',')} --runs ${runs} --seed ${seed}`;
}
