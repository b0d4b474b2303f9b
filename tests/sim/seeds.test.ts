import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import t from 'tap';
import { failedSeed } from '../../bench/sim/run/batch.ts';
import { runSeed } from '../../bench/sim/run/run-seed.ts';
import { everythingFails } from './product-defects.ts';

/** Fixed, so that a failure here is a change of the product and not of luck. `npm run sim` draws on. */
const DIRECT_SEEDS = range(1, 200);
const FULL_SEEDS = range(1, 8);
const COMPARED_SEEDS = range(1_001, 1_012);

t.test('nothing is lost and nothing runs twice, in two hundred worlds with faults', async (t) => {
  for (const seed of DIRECT_SEEDS) {
    const result = await runSeed({ seed, path: 'direct' });
    if (result.violations.length > 0) t.fail(`seed ${seed}`, failedSeed(result));
  }
});

t.test('nor through the whole tRPC and HTTP stack', async (t) => {
  for (const seed of FULL_SEEDS) {
    const result = await runSeed({ seed, path: 'full' });
    if (result.violations.length > 0) t.fail(`seed ${seed}`, failedSeed(result));
  }
});

t.test('both paths give the same trace for the same seed', async (t) => {
  for (const seed of COMPARED_SEEDS) {
    const [direct, full] = [await runSeed({ seed, path: 'direct' }), await runSeed({ seed, path: 'full' })];
    t.equal(direct.traceHash, full.traceHash, `seed ${seed}`);
    t.equal(direct.runs, full.runs);
  }
});

t.test('the same seed gives the same trace, here and in another process', async (t) => {
  const seed = 4_711;
  const here = [await runSeed({ seed, path: 'direct' }), await runSeed({ seed, path: 'direct' })];
  const program = `
    import { runSeed } from ${JSON.stringify(new URL('../../bench/sim/run/run-seed.ts', import.meta.url).href)};
    process.stdout.write((await runSeed({ seed: ${seed}, path: 'direct' })).traceHash);
  `;
  const there = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  t.equal(here[0]!.traceHash, here[1]!.traceHash);
  t.equal(there.stdout, here[0]!.traceHash);
});

t.test('a seed that fails says how to repeat it, and tells the life of the command', async (t) => {
  const result = await runSeed({ seed: 5_003, path: 'direct', defects: everythingFails() });
  const { replay, violations } = failedSeed(result);
  t.equal(replay, 'npm run sim -- --seed 5003 --seeds 1');
  const [told] = violations;
  t.match(told, { rule: 'every end has a cause that somebody can name', commandId: /^[0-9a-f-]{36}$/ });
  const story = told!.story.join('\n');
  for (const step of [/relay +command\.queued/, /ENGINE STARTS/, /ENGINE ENDS completed/, /is told failed/])
    t.match(story, step);
});

t.test('another seed gives another trace', async (t) => {
  const [one, two] = [await runSeed({ seed: 1, path: 'direct' }), await runSeed({ seed: 2, path: 'direct' })];
  t.not(one.traceHash, two.traceHash);
});

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
