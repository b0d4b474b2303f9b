/** A program for whatever runtime it is started with: the trace hashes of the seeds in its arguments, one a line. */
import { runSeed } from '../../bench/sim/run/run-seed.ts';

for (const seed of process.argv.slice(2).map(Number)) {
  for (const path of ['direct', 'full'] as const) {
    const { traceHash } = await runSeed({ seed, path });
    process.stdout.write(`${seed} ${path} ${traceHash}\n`);
  }
}
