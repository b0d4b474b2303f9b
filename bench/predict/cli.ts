/** `graph-relay bench predict`: from somebody's day to a sentence. */
import { type Command, InvalidArgumentError } from 'commander';
import { parseCount, parseList, type VirtualOptions, virtualCommand } from '../options.ts';

const RUNS = { usual: 400, least: 20 };
/** As far as a line of the bench goes. */
const RTT_MAX_MS = 20_000;
const RUN_MAX_S = 3_600;

interface Options extends VirtualOptions {
  readonly runsPerDay: number;
  readonly rtt: number;
  readonly mode: string[];
  readonly runSeconds?: number;
}

export function predictCommand(): Command {
  return virtualCommand('predict', RUNS)
    .description('what a day of yours comes to: seconds saved, requests, megabytes and polling tokens, in a sentence')
    .option('--runs-per-day <number>', 'runs that a day has', parseCount, 20)
    .option('--rtt <ms>', 'a round trip between desktop and relay', parseUpTo(RTT_MAX_MS), 30)
    .option('--mode <names>', 'names and files with commas between them', parseList, ['long-poll'])
    .option('--run-seconds <number>', "how long a run takes; the post's run times when left out", parseUpTo(RUN_MAX_S))
    .action(run);
}

async function run(options: Options): Promise<void> {
  // Loaded here, so that no other command pays for it.
  const { findModes } = await import('../catalogue.ts');
  const { predict } = await import('./predict.ts');
  const { predictLines } = await import('./text.ts');
  const { putOut, refuseUnwritable } = await import('../output.ts');
  await refuseUnwritable(options.out);
  const { seed, runs, threads, runsPerDay, rtt, mode, runSeconds } = options;
  const result = await predict({
    seed,
    runs,
    threads,
    runsPerDay,
    rttMs: rtt,
    runS: runSeconds,
    modes: await findModes(mode),
    command: commandOf(options),
  });
  await putOut(result, predictLines, options);
}

function commandOf({ runsPerDay, rtt, mode, runSeconds, seed, runs }: Options): string {
  const length = runSeconds === undefined ? '' : ` --run-seconds ${runSeconds}`;
  return `npm run bench -- predict --runs-per-day ${runsPerDay} --rtt ${rtt} --mode ${mode.join(',')}${length} --runs ${runs} --seed ${seed}`;
}

function parseUpTo(most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== '' && value >= 0 && value <= most) return value;
    throw new InvalidArgumentError(`It must be a number from 0 to ${most}.`);
  };
}
