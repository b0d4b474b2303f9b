/** `graph-relay bench report`: from the command line to a page. */
import type { Command } from 'commander';
import { type VirtualOptions, virtualCommand } from '../options.ts';

const RUNS = { usual: 400, least: 20 };
const USUAL_FILE = 'bench-report.html';

interface Options extends VirtualOptions {
  readonly in?: string[];
}

export function reportCommand(): Command {
  return virtualCommand('report', RUNS, {
    json: 'print the numbers of all figures as one JSON object',
    out: 'the page',
  })
    .description('one HTML file that loads nothing: pickup, fan-out, asking, price and faults, with their numbers')
    .option('--in <files...>', 'draw these results, which were written with --out; otherwise what is needed is run')
    .action(run);
}

async function run({ in: files, out = USUAL_FILE, json, seed, runs, threads }: Options): Promise<void> {
  // Loaded here, so that no other command pays for it.
  const { systemClock } = await import('../../protocol/host/system-ports.ts');
  const { note, print } = await import('../../protocol/host/terminal.ts');
  const { readSources, runSources } = await import('./gather.ts');
  const { makeReport } = await import('./report.ts');
  const { refuseUnwritable, writeOut } = await import('../output.ts');
  await refuseUnwritable(out);
  const began = { at: systemClock.now(), monotonic: systemClock.monotonic() };
  const sources = files === undefined ? await runSources({ seed, runs, threads }) : readSources(files);
  const [first] = sources;
  const report = await makeReport(sources, {
    command: commandOf({ in: files, seed, runs }),
    seed: files === undefined ? seed : (first?.result.seed ?? seed),
    began,
  });
  await writeOut(out, report.html);
  if (json) return print(JSON.stringify(report.result));
  for (const line of report.result.absent) note(line);
  note(`The report is in ${out}.`);
}

function commandOf({ in: files, seed, runs }: { in: string[] | undefined; seed: number; runs: number }): string {
  if (files !== undefined) return `npm run bench -- report --in ${files.join(' ')}`;
  return `npm run bench -- report --seed ${seed} --runs ${runs}`;
}
