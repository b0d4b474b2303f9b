/** `graph-relay bench published`: from the command line to a verdict. */
import type { Command } from 'commander';
import { EXIT_CODES } from '../../protocol/host/exit-codes.ts';
import { type VirtualOptions, virtualCommand } from '../options.ts';

/** Usually as many as the post's largest tables have. Fewer than the least say nothing of a 95th percentile. */
const RUNS = { usual: 2_000, least: 100 };

export function publishedCommand(): Command {
  return virtualCommand('published', RUNS)
    .description("the tables of the post, redone in virtual time beside the post's figures; ends with 1 when one fails")
    .option('--figures <file>', "other figures in place of the post's, as JSON of the same form")
    .action(async ({ figures, ...options }: VirtualOptions & { figures?: string }) => {
      // Loaded here, so that no other command pays for it.
      const { readFigures } = await import('./figures.ts');
      const { measurePublished } = await import('./published.ts');
      const { publishedLines } = await import('./text.ts');
      const { putOut, refuseUnwritable } = await import('../output.ts');
      await refuseUnwritable(options.out);
      const { seed, runs } = options;
      const others = figures === undefined ? '' : ` --figures ${figures}`;
      const command = `npm run bench -- published --seed ${seed} --runs ${runs}${others}`;
      const result = await measurePublished({ ...options, command, figures: readFigures(figures ?? null) });
      await putOut(result, publishedLines, options);
      if (result.verdict === 'FAIL') process.exitCode = EXIT_CODES.failure;
    });
}
