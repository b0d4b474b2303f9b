/** `graph-relay bench live`: from the command line to a verdict. */
import { Command } from 'commander';
import { EXIT_CODES } from '../../protocol/host/exit-codes.ts';
import { parseCount, parseList, parseWhole } from '../options.ts';

interface Options {
  readonly seed: number;
  readonly modes: string[];
  readonly workload: string;
  readonly desktops?: number;
  readonly quick?: boolean;
  readonly judge?: string;
  readonly json?: boolean;
  readonly out?: string;
}

export function liveCommand(): Command {
  return new Command('live')
    .description('the same workload over real sockets and in virtual time: do they agree? (two minutes; 1 when not)')
    .option('--modes <names>', 'names and files with commas between them', parseList, [
      'plain-20s',
      'long-poll',
      'websocket',
    ])
    .option('--workload <name>', 'a name or a file; its runs must be short', 'short-runs')
    .option('--desktops <number>', 'of each mode; each plays one round', parseCount)
    .option('--seed <number>', 'what is drawn for the rounds, the same in both times', parseWhole, 1)
    .option('--quick', 'few desktops and few held requests: does it work, not how quick is it')
    .option('--judge <file>', 'only judge the samples of an older result again')
    .option('--json', 'print one JSON object')
    .option('--out <file>', 'write the JSON to a file, too')
    .action(run);
}

async function run(options: Options): Promise<void> {
  // Loaded here, so that no other command pays for it.
  const { liveLines } = await import('./text.ts');
  const { putOut, refuseUnwritable } = await import('../output.ts');
  await refuseUnwritable(options.out);
  const { judge } = options;
  const result = judge === undefined ? await measured(options) : (await import('./judge-again.ts')).judgeAgain(judge);
  await putOut(result, liveLines, options);
  if (result.verdict === 'FAIL') process.exitCode = EXIT_CODES.failure;
}

async function measured({ seed, modes, workload, desktops, quick = false }: Options) {
  const { findModes, findWorkloads } = await import('../catalogue.ts');
  const { measureLive } = await import('./live.ts');
  const { QUICK, USUAL } = await import('./scale.ts');
  const usual = quick ? QUICK : USUAL;
  const scale = { ...usual, desktops: desktops ?? usual.desktops };
  const [found] = await findWorkloads([workload]);
  const command = `npm run bench -- live --modes ${modes.join(',')} --workload ${workload} --desktops ${scale.desktops} --seed ${seed}${quick ? ' --quick' : ''}`;
  return measureLive({ seed, modes: await findModes(modes), workload: found!, scale, command });
}
